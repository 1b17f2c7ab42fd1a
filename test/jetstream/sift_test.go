package jetstream_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/test/faultproxy"
)

func dropAll(context.Context, *broker.Stored) (broker.Action, error) {
	return broker.Action{Verb: broker.VerbDrop}, nil
}

// park publishes numbered messages and parks them.
func (p *place) park(queue string, n int) {
	p.Helper()
	s := p.consuming(p.open(), queue, 20)
	for i := range n {
		p.publish(fmt.Sprint(i))
	}
	for range n {
		d := p.receive(s)
		p.mustSettle(d, parked(d))
	}
	p.must(s.Close(p.ctx()))
}

// TestSiftOfWhatMisleads: a message whose own headers look like those of the
// server is that message, and hides no other.
func TestSiftOfWhatMisleads(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.stream("ORDERS", func(c *natsjs.StreamConfig) { c.AllowDirect = true; c.Retention = natsjs.WorkQueuePolicy })
	p.consumer("ORDERS", "billing")
	p.publish("innocent")
	for _, h := range []nats.Header{
		{"Status": {"404"}},
		{"Nats-Sequence": {"1"}, "Nats-Stream": {"OTHER"}, "Nats-Subject": {"other.x"}, "Nats-Time-Stamp": {"x"}},
		{"Status": {"503"}, "Nats-Msg-Size": {"7"}},
	} {
		_, err := p.js.PublishMsg(p.ctx(), &nats.Msg{Subject: "orders.strange", Header: h})
		p.must(err)
	}
	p.publish("last")
	var seen []string
	sum, err := p.open().Sift(p.ctx(), "ORDERS/billing", broker.SiftOptions{}, func(_ context.Context, m *broker.Stored) (broker.Action, error) {
		seen = append(seen, m.Message.Origin.Key)
		if m.Message.Origin.Key == "orders.strange" {
			return broker.Action{Verb: broker.VerbDrop}, nil
		}
		return broker.Action{}, nil
	})
	if err != nil || sum != (broker.Sifted{Seen: 5, Kept: 2, Dropped: 3}) {
		t.Errorf("%+v, %v: %q", sum, err, seen)
	}
	p.receives(p.consuming(p.open(), "ORDERS/billing", 5), "innocent", "last")
}

// TestSiftWhileConsumed moves messages while a consumer works on the queue:
// each is in the end at one of the two, or at both, and never at none.
func TestSiftWhileConsumed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	p.stream("ASIDE")
	p.consumer("ASIDE", "there")
	b := p.open()
	const n = 300
	for i := range n {
		p.publish(fmt.Sprint(i))
	}
	var handled tally
	s := p.consuming(b, queue, 10)
	sifted := make(chan error, 1)
	go func() {
		_, err := p.open().Sift(p.ctx(), queue, broker.SiftOptions{}, func(_ context.Context, m *broker.Stored) (broker.Action, error) {
			return broker.Action{Verb: broker.VerbCopy, Target: broker.Target{Exchange: "ASIDE", Key: "aside.x"}}, nil
		})
		sifted <- err
	}()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	consumed := make(chan struct{})
	go func() {
		defer close(consumed)
		for {
			d, err := s.Receive(ctx)
			if err != nil {
				return
			}
			d.Settle(done, func(err error) {
				if err == nil {
					handled.add(string(d.Message().Body))
				}
			})
		}
	}()
	p.must(<-sifted)
	p.wantStored("ORDERS", 0)
	stop()
	<-consumed
	for _, m := range p.sifted("ASIDE/there") {
		handled.add(string(m.Message.Body))
	}
	if handled.len() != n {
		t.Errorf("%d of %d are left", handled.len(), n)
	}
}

// TestSiftCut ends the connections of a replay again and again: each time it
// is repeated, and within the window for duplicates no message is there twice.
func TestSiftCut(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	const n = 120
	p.park(queue, n)
	proxy, through := faultproxy.Before(t, p.url)
	b := p.open(via(through))
	for cuts := 0; p.stored(parkedStream) > 0; cuts++ {
		if cuts > 60 {
			t.Fatal("it does not come to an end")
		}
		var asked atomic.Int64
		_, err := b.Sift(p.ctx(), queue+".parked", broker.SiftOptions{}, func(ctx context.Context, m *broker.Stored) (broker.Action, error) {
			if asked.Add(1) == int64(3+cuts%5) {
				go proxy.Cut() // at some moment of what follows
			}
			return copyTo(queue)(ctx, m)
		})
		if err != nil && broker.Permanent(err) {
			t.Fatal(err)
		}
	}
	var back tally
	s := p.consuming(p.open(), queue, 20)
	for range n {
		d := p.receive(s)
		back.add(string(d.Message().Body))
		p.mustSettle(d, done)
	}
	if back.len() != n {
		t.Errorf("%d of %d are back", back.len(), n)
	}
	p.receivesNothing(s)
}
