package jetstream_test

import (
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/test/faultproxy"
)

// TestLostDeliveriesComeBackAtOnce: nobody waits for the end of a long ack
// wait because a connection was lost.
func TestLostDeliveriesComeBackAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue(waiting(time.Hour))
	proxy, through := faultproxy.Before(t, p.url)
	b := p.open(via(through))
	s := p.consuming(b, queue, 3)
	p.publish("a", "b", "c")
	list := p.receives(s, "a", "b", "c")
	proxy.Cut()
	wantErr(t, p.ended(s, patience), broker.ErrUnreachable)
	wantErr(t, p.settle(list[0], done), broker.ErrClosed)
	for _, d := range p.receives(p.consuming(b, queue, 3), "a", "b", "c") {
		if d.Facts().Crashes != 1 {
			t.Errorf("%q was charged %d", d.Message().Body, d.Facts().Crashes)
		}
		p.mustSettle(d, done)
	}
}

// TestOpenDeliveriesComeBackAtOnce: a session that ends while its connection
// lives keeps nothing back, and another process need not wait either.
func TestOpenDeliveriesComeBackAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	patient := waiting(time.Hour)
	queue := p.queue(patient)
	s := p.consuming(p.open(), queue, 10)
	p.publish("a", "b")
	p.receives(s, "a") // and the other waits unread
	p.consumer("ORDERS", "billing", patient, func(c *natsjs.ConsumerConfig) { c.MaxRequestBatch = 2 })
	wantErr(t, p.ended(s, patience), broker.ErrDetached)
	p.consumer("ORDERS", "billing", patient)
	p.receives(p.consuming(p.open(), queue, 2), "a", "b")
}

// TestLostDeliveriesOfAnotherConsumer: one of the same name never gave what was
// lost, and what it gave to somebody else is left to him.
func TestLostDeliveriesOfAnotherConsumer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	patient := waiting(time.Hour)
	queue := p.queue(patient)
	proxy, through := faultproxy.Before(t, p.url)
	b := p.open(via(through))
	s := p.consuming(b, queue, 1)
	p.publish("a")
	p.receives(s, "a")
	proxy.Cut()
	_ = p.ended(s, patience)
	p.must(p.js.DeleteConsumer(p.ctx(), "ORDERS", "billing"))
	p.consumer("ORDERS", "billing", patient)
	holder := p.receives(p.consuming(p.open(), queue, 1), "a")[0]
	p.receivesNothing(p.consuming(b, queue, 1))
	p.mustSettle(holder, done)
	p.wantStored("ORDERS", 0)
}
