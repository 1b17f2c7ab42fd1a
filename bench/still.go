package main

import (
	"context"
	"sync/atomic"

	"github.com/holdfast-mq/holdfast/broker"
)

// still is a broker that always has one more message and allocates nothing
// for it. Settlements succeed on the spot.
type still struct {
	done     chan struct{}
	delivery stillDelivery
	closed   atomic.Bool
}

func newStill() *still {
	s := &still{done: make(chan struct{})}
	s.delivery.m = broker.Message{Body: make([]byte, bodySize), ID: "1", Attempt: 1, Origin: broker.Origin{Queue: source}}
	return s
}

func (s *still) Open(context.Context, broker.Subscription) (broker.Session, error) {
	return &stillSession{still: s}, nil
}

func (s *still) Close() error { return nil }

type stillSession struct {
	*still
	paused atomic.Bool
}

func (s *stillSession) Capabilities() broker.Capabilities {
	return broker.Capabilities{Broker: "still", Delay: true, Hold: true, Stamp: true, FreeRelease: true, Counts: true}
}

func (s *stillSession) Consume(context.Context, int) error { s.paused.Store(false); return nil }
func (s *stillSession) Pause(context.Context) error        { s.paused.Store(true); return nil }
func (s *stillSession) Probe(context.Context) error        { return nil }
func (s *stillSession) Done() <-chan struct{}              { return s.done }

func (s *stillSession) Receive(ctx context.Context) (broker.Delivery, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.paused.Load():
		return nil, broker.ErrPaused
	}
	return &s.delivery, nil
}

// TryReceive has nothing at hand: each Receive gives the one delivery again.
func (s *stillSession) TryReceive() (broker.Delivery, bool) { return nil, false }

func (s *stillSession) Err() error {
	if s.closed.Load() {
		return broker.ErrClosed
	}
	return nil
}

func (s *stillSession) Close(context.Context) error {
	if s.closed.CompareAndSwap(false, true) {
		close(s.done)
	}
	return nil
}

// stillDelivery is the same one again and again: a consumer with one handler
// has one in hand.
type stillDelivery struct{ m broker.Message }

func (d *stillDelivery) Message() *broker.Message { return &d.m }
func (*stillDelivery) Facts() broker.Facts        { return broker.Facts{} }

func (*stillDelivery) Settle(_ broker.Settlement, done func(error)) { done(nil) }
