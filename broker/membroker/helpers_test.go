package membroker_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
)

func publish(t *testing.T, b *membroker.Broker, queue, body string) {
	t.Helper()
	if err := b.Publish(t.Context(), broker.Target{Queue: queue}, &broker.Message{Body: []byte(body)}); err != nil {
		t.Fatal(err)
	}
}

// run runs a consumer until stop is called.
func run(t *testing.T, b broker.Broker, cfg holdfast.ConsumerConfig) (stop func()) {
	t.Helper()
	c, err := holdfast.NewConsumer(b, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	}
}

func open(t *testing.T, b broker.Broker, queue string, notify func(broker.Notice)) broker.Session {
	t.Helper()
	s, err := b.Open(t.Context(), broker.Subscription{
		Queue: queue, Rungs: []time.Duration{time.Minute}, Hold: time.Hour, Notify: notify,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// take opens a session and receives the first message.
func take(t *testing.T, b broker.Broker, queue string) (broker.Delivery, broker.Session) {
	t.Helper()
	s := open(t, b, queue, nil)
	if err := s.Consume(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	d, err := s.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

func capture(queue string) *broker.Capture {
	return &broker.Capture{ID: "capture-1", Attempt: 2, Origin: broker.Origin{Queue: queue}}
}

func outcome(d broker.Delivery, s broker.Settlement) error {
	done := make(chan error, 1)
	d.Settle(s, func(err error) { done <- err })
	return <-done
}

func settle(t *testing.T, d broker.Delivery, s broker.Settlement) {
	t.Helper()
	if err := outcome(d, s); err != nil {
		t.Fatalf("%v: %v", s.Fate, err)
	}
}
