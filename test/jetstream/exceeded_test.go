package jetstream_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/test/faultproxy"
)

// detachments takes a token for each end of a session.
type detachments chan struct{}

func (d detachments) Observe(e holdfast.Event) {
	if e.Kind == holdfast.EventDetached {
		d <- struct{}{}
	}
}

// TestExceeded: the owner lowers MaxDeliver while a message is about that ends
// every connection that takes it. JetStream gives up delivering it; it goes on
// as one that came back, to the bound that is ours.
func TestExceeded(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	proxy, through := faultproxy.Before(t, p.url)
	var runs tally
	detached := make(detachments, 100)
	w := p.run(p.open(via(through)), holdfast.ConsumerConfig{
		Queue: queue, Policy: holdfast.Policy{Crashes: 3}, Observer: detached,
		Handler: func(_ context.Context, m *holdfast.Message) error {
			if runs.add(string(m.Body)) == 1 && string(m.Body) == "killer" {
				p.consumer("ORDERS", "billing", func(c *natsjs.ConsumerConfig) { c.MaxDeliver = 2 })
			}
			if string(m.Body) == "killer" {
				proxy.Cut()
				<-detached // as one that dies with its connection
			}
			return nil
		},
	})
	p.publish("killer", "innocent")
	w.wantEvents(holdfast.EventParked, 1)
	p.eventually("the other is handled", func() bool { return runs.of("innocent") > 0 })
	if reason := w.of(holdfast.EventParked)[0].Reason; reason != broker.ReasonCrashLoop {
		t.Errorf("parked as %v", reason)
	}
	if n := runs.of("killer"); n != 2+3 { // MaxDeliver, and our own bound from there
		t.Errorf("it ran %d times", n)
	}
	told := false
	for _, e := range w.of(holdfast.EventWarning) {
		told = told || strings.Contains(e.Text, "goes on as one that came back")
	}
	if !told {
		t.Error("nobody was told that MaxDeliver was reached")
	}
	if list := p.sifted(queue + ".parked"); len(list) != 1 || string(list[0].Message.Body) != "killer" {
		t.Errorf("parked: %+v", list)
	}
	p.wantStored("ORDERS", 0) // what was taken on does not lie in its stream for ever
}

// TestExceededBefore: what was given up before the consumer came is not
// delivered by JetStream again, and is told.
func TestExceededBefore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue(func(c *natsjs.ConsumerConfig) { c.MaxDeliver = 2 })
	p.publish("stuck")
	c, err := p.js.Consumer(p.ctx(), "ORDERS", "billing")
	p.must(err)
	for range 2 {
		batch, err := c.Fetch(1)
		p.must(err)
		for m := range batch.Messages() {
			p.must(m.Nak())
		}
	}
	if _, err := c.Next(natsjs.FetchMaxWait(quiet)); err == nil {
		t.Fatal("MaxDeliver does nothing")
	}
	_, told := p.sessionTelling(p.open(), broker.Subscription{Queue: queue})
	for _, words := range []string{"MaxDeliver 2", "will never be delivered again"} {
		if !told.warned("ORDERS/billing", words) {
			t.Errorf("nobody said %q: %q", words, told.of(broker.NoticeWarning))
		}
	}
}

// TestExceededAndSettled: that MaxDeliver was reached by a message that has
// been settled since is nothing to warn of.
func TestExceededAndSettled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue(func(c *natsjs.ConsumerConfig) { c.MaxDeliver = 2 })
	s, told := p.sessionTelling(p.open(), broker.Subscription{Queue: queue})
	p.must(p.conn.Publish("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.ORDERS.billing", []byte(`{"stream_seq":77}`)))
	p.must(p.conn.Publish("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.ORDERS.billing", []byte(`no json`)))
	p.must(s.Consume(p.ctx(), 1))
	p.receivesNothing(s)
	if told.warned("lies there for nobody") {
		t.Error("it warns of a message that is not there")
	}
}

// sifted looks at all of a place.
func (p *place) sifted(queue string) (list []*broker.Stored) {
	p.Helper()
	_, err := p.open().Sift(p.ctx(), queue, broker.SiftOptions{}, func(_ context.Context, m *broker.Stored) (broker.Action, error) {
		list = append(list, m)
		return broker.Action{}, nil
	})
	if err != nil && !errors.Is(err, broker.ErrMissing) {
		p.Fatal(err)
	}
	return list
}
