package jetstream_test

import (
	"context"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

// TestReplayToNowhere: a copy that nothing keeps is an error, and the original
// stays.
func TestReplayToNowhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	p.stream("EVENTS", func(c *natsjs.StreamConfig) { c.Retention = natsjs.InterestPolicy })
	p.consumer("EVENTS", "some", func(c *natsjs.ConsumerConfig) { c.FilterSubjects = []string{"events.some.>", "events.a"} })
	b := p.open()
	s := p.consuming(b, queue, 1)
	p.publish("bad")
	d := p.receive(s)
	p.mustSettle(d, parked(d))
	for what, target := range map[string]broker.Target{
		"no stream":                      {Exchange: "NOTHING", Key: "nothing.a"},
		"a subject that no stream takes": {Exchange: "ORDERS", Key: "nothing.a"},
		"a stream that keeps nothing":    {Exchange: "EVENTS", Key: "events.b"},
		"no consumer":                    {Queue: "ORDERS/nobody"},
		"no queue":                       {Queue: "nobody"},
	} {
		if err := b.Publish(p.ctx(), target, &broker.Message{Body: []byte("x")}); err == nil {
			t.Errorf("%s: published", what)
		} else {
			wantErr(t, err, broker.ErrUnrouted)
		}
		sum, err := b.Sift(p.ctx(), queue+".parked", broker.SiftOptions{}, func(context.Context, *broker.Stored) (broker.Action, error) {
			return broker.Action{Verb: broker.VerbCopy, Target: target}, nil
		})
		if wantErr(t, err, broker.ErrUnrouted); sum != (broker.Sifted{Seen: 1, Kept: 1}) {
			t.Errorf("%s: %+v", what, sum)
		}
	}
	for _, target := range []broker.Target{{Exchange: "ORDERS", Key: "events.a"}, {Exchange: "ORDERS", Key: "or ders"}} {
		if err := b.Publish(p.ctx(), target, &broker.Message{}); !isAny(err, broker.ErrRefused, broker.ErrUnrouted) {
			t.Errorf("%v: %v", target, err)
		}
	}
	wantErr(t, b.Publish(p.ctx(), broker.Target{}, &broker.Message{}), broker.ErrConfig)
	p.wantStored(parkedStream, 1)
	p.must(b.Publish(p.ctx(), broker.Target{Exchange: "EVENTS", Key: "events.some.x"}, &broker.Message{Body: []byte("x")}))
	p.must(b.Publish(p.ctx(), broker.Target{Exchange: "ORDERS", Key: "orders.x"}, &broker.Message{Body: []byte("x")}))
	p.wantStored("EVENTS", 1)
	p.receives(s, "x")
}

// TestPublishIDs: by a message's id a stream drops what its producer repeats;
// two queues may well get messages of one id.
func TestPublishIDs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.stream("ORDERS", func(c *natsjs.StreamConfig) { c.Retention = natsjs.LimitsPolicy })
	p.consumer("ORDERS", "a")
	p.consumer("ORDERS", "b")
	b := p.open()
	m := &broker.Message{ID: "17", Body: []byte("x")}
	for _, queue := range []string{"ORDERS/a", "ORDERS/b"} {
		p.must(b.Publish(p.ctx(), broker.Target{Queue: queue}, m))
	}
	for range 2 {
		p.must(b.Publish(p.ctx(), broker.Target{Exchange: "ORDERS", Key: "orders.x"}, m))
	}
	p.wantStored("ORDERS", 1)
	for _, queue := range []string{"ORDERS/a", "ORDERS/b"} {
		s := p.consuming(b, queue, 5)
		for _, d := range p.receives(s, "x", "x") {
			if id := d.Message().ID; id != "17" {
				t.Errorf("%s: the id is %q", queue, id)
			}
		}
	}
}

// TestPlacesRemoved: streams of ours that somebody has deleted are made again
// by the next session, and until then the copy is unrouted and the original
// open.
func TestPlacesRemoved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	b := p.open()
	s := p.consuming(b, queue, 2)
	p.publish("bad", "late")
	list := p.receives(s, "bad", "late")
	p.must(p.js.DeleteStream(p.ctx(), parkedStream))
	wantErr(t, p.settle(list[0], parked(list[0])), broker.ErrUnrouted, parkedStream)
	p.session(b, broker.Subscription{Queue: queue})
	p.mustSettle(list[0], parked(list[0]))
	p.wantStored(parkedStream, 1)

	p.must(p.js.DeleteStream(p.ctx(), workStream))
	if err := p.settle(list[1], delayed(list[1], time.Second)); !isAny(err, broker.ErrUnrouted, broker.ErrClosed) {
		t.Errorf("the copy for a stream that is gone: %v", err)
	}
	wantErr(t, p.ended(s, patience), broker.ErrDetached, workStream)
	d := p.receives(p.consuming(b, queue, 2), "late")[0]
	p.mustSettle(d, delayed(d, time.Second))
	p.wantStored(workStream, 1)
}
