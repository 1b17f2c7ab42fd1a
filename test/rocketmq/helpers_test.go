package rocketmq

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	rung     = 100 * time.Millisecond
	patience = time.Minute
)

func capture(queue string) *broker.Capture {
	now := time.Now().UTC()
	return &broker.Capture{ID: "c1", Attempt: 9, Origin: broker.Origin{Queue: queue}, FirstFailedAt: now, FailedAt: now}
}

func consume(t *testing.T, b broker.Broker, queue string, prefetch int) broker.Session {
	t.Helper()
	session, err := b.Open(t.Context(), broker.Subscription{Queue: queue, Rungs: []time.Duration{rung}, Hold: time.Second})
	if err == nil {
		err = session.Consume(t.Context(), prefetch)
	}
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func receive(t *testing.T, session broker.Session) broker.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	d, err := session.Receive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func settle(t *testing.T, d broker.Delivery, set broker.Settlement) {
	t.Helper()
	result := make(chan error, 1)
	d.Settle(set, func(err error) { result <- err })
	select {
	case err := <-result:
		if err != nil {
			t.Errorf("%v: %v", set.Fate, err)
		}
	case <-time.After(patience):
		t.Fatalf("%v: no outcome", set.Fate)
	}
}

func closeBroker(t *testing.T, b broker.Broker) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
