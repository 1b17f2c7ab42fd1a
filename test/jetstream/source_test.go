package jetstream_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// bodies receives n messages and returns their bodies in order of the text.
func (p *place) bodies(s broker.Session, n int) (list []string) {
	p.Helper()
	for range n {
		d := p.receive(s)
		list = append(list, string(d.Message().Body))
		p.mustSettle(d, done)
	}
	slices.Sort(list)
	return list
}

func TestSourceRemoved(t *testing.T) {
	t.Parallel()
	for what, remove := range map[string]func(p *place) error{
		"consumer": func(p *place) error { return p.js.DeleteConsumer(p.ctx(), "ORDERS", "billing") },
		"stream":   func(p *place) error { return p.js.DeleteStream(p.ctx(), "ORDERS") },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			queue := p.queue()
			b := p.open()
			s := p.consuming(b, queue, 5)
			p.publish("open", "delayed", "waiting")
			list := p.receives(s, "open", "delayed", "waiting")
			p.mustSettle(list[1], delayed(list[1], time.Second))
			p.must(remove(p))
			wantErr(t, p.ended(s, 5*time.Second), broker.ErrDetached, "ORDERS/billing")
			wantErr(t, p.settle(list[0], done), broker.ErrClosed)
			p.refusedAtStart(b, queue, broker.ErrMissing, "its owner makes it")
			want := []string{"delayed", "open", "waiting"}
			if what == "stream" {
				p.stream("ORDERS")
				want = want[:1] // what was in the stream is gone with it; what had failed is not
			}
			p.consumer("ORDERS", "billing")
			if got := p.bodies(p.consuming(b, queue, 5), len(want)); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestSourceMadeAnew: a consumer of the same name is another one, also where
// nothing asks for messages just then.
func TestSourceMadeAnew(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	s := p.consuming(p.open(), queue, 1)
	p.publish("a")
	p.receives(s, "a") // the prefetch is used up
	p.must(s.Probe(p.ctx()))
	p.must(p.js.DeleteConsumer(p.ctx(), "ORDERS", "billing"))
	p.consumer("ORDERS", "billing")
	wantErr(t, s.Probe(p.ctx()), broker.ErrDetached, "made anew")
}

// TestSourceChangedUnderWay: a session knows how its consumer is set up, and
// ends when that is no longer true.
func TestSourceChangedUnderWay(t *testing.T) {
	t.Parallel()
	for text, change := range map[string]func(*natsjs.ConsumerConfig){
		"headers only":    func(c *natsjs.ConsumerConfig) { c.HeadersOnly = true },
		"MaxRequestBatch": func(c *natsjs.ConsumerConfig) { c.MaxRequestBatch = 2 },
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			queue := p.queue()
			s := p.consuming(p.open(), queue, 10)
			p.consumer("ORDERS", "billing", change)
			p.publish("a")
			wantErr(t, p.ended(s, patience), broker.ErrDetached, text)
			p.consumer("ORDERS", "billing")
			p.receives(p.consuming(p.open(), queue, 1), "a")
		})
	}
}

// TestConsumerComesBack runs a whole consumer through both removals.
func TestConsumerComesBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	var runs tally
	w := p.run(p.open(), holdfast.ConsumerConfig{Queue: queue, Concurrency: 2, Handler: func(_ context.Context, m *holdfast.Message) error {
		runs.add(string(m.Body))
		return nil
	}})
	w.wantEvents(holdfast.EventAttached, 1)
	for round, remove := range []func() error{
		func() error { return p.js.DeleteConsumer(p.ctx(), "ORDERS", "billing") },
		func() error { return p.js.DeleteStream(p.ctx(), "ORDERS") },
	} {
		p.must(remove())
		w.wantEvents(holdfast.EventDetached, round+1)
		if round == 1 {
			p.stream("ORDERS")
		}
		p.consumer("ORDERS", "billing")
		w.wantEvents(holdfast.EventAttached, round+2)
		body := fmt.Sprint("after ", round)
		p.publish(body)
		p.eventually("the message is handled", func() bool { return runs.of(body) == 1 })
	}
}
