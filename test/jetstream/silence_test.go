package jetstream_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// TestSilence freezes the server: connections stand and nothing is answered.
func TestSilence(t *testing.T) {
	t.Parallel()
	server := startChild(t)
	p := at(t, server.url)
	queue := p.queue(waiting(2 * time.Second))
	const n = 20
	for i := range n {
		p.publish(fmt.Sprint(i))
	}
	var runs tally
	var started atomic.Int64
	half, frozen := make(chan struct{}), make(chan struct{})
	w := p.run(p.open(), holdfast.ConsumerConfig{Queue: queue, Concurrency: 4, Handler: func(_ context.Context, m *holdfast.Message) error {
		runs.add(string(m.Body))
		if started.Add(1) == n/2 {
			close(half)
			<-frozen // what runs while the server falls silent is settled into the silence
		}
		return nil
	}})
	<-half
	server.freeze(t, true)
	close(frozen)
	w.wantEvents(holdfast.EventDetached, 1)
	if err := w.of(holdfast.EventDetached)[0].Err; !isAny(err, broker.ErrUnreachable, broker.ErrUnknown) {
		t.Errorf("the session ended with %v", err)
	}
	server.freeze(t, false)
	w.wantEvents(holdfast.EventAttached, 2)
	p.eventually("all are handled", func() bool { return runs.len() == n })
	p.wantStored("ORDERS", 0)
}

// TestSilenceEndsASession: a session that only waits finds out in time.
func TestSilenceEndsASession(t *testing.T) {
	t.Parallel()
	server := startChild(t)
	p := at(t, server.url)
	s := p.consuming(p.open(), p.queue(), 1)
	p.publish("a")
	p.mustSettle(p.receive(s), done)
	server.freeze(t, true)
	defer server.freeze(t, false)
	wantErr(t, p.ended(s, 10*time.Second), broker.ErrUnreachable, "does not answer")
}
