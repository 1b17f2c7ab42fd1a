package jetstream_test

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/jetstream"
)

func (p *place) session(b *jetstream.Broker, sub broker.Subscription) broker.Session {
	p.Helper()
	s, err := b.Open(p.ctx(), sub)
	p.must(err)
	p.Cleanup(func() {
		if err := s.Close(p.ctx()); err != nil {
			p.Error(err)
		}
	})
	return s
}

// consuming is a session at work.
func (p *place) consuming(b *jetstream.Broker, queue string, prefetch int) broker.Session {
	p.Helper()
	s := p.session(b, broker.Subscription{Queue: queue, Rungs: rungs, Hold: time.Minute})
	p.must(s.Consume(p.ctx(), prefetch))
	return s
}

var rungs = []time.Duration{100 * time.Millisecond, time.Second, time.Minute}

// refusedAtStart opens a session that must be refused.
func (p *place) refusedAtStart(b *jetstream.Broker, queue string, class error, texts ...string) {
	p.Helper()
	s, err := b.Open(p.ctx(), broker.Subscription{Queue: queue, Rungs: rungs, Hold: time.Minute})
	if err == nil {
		_ = s.Close(p.ctx())
		p.Fatalf("the session on %s is open", queue)
	}
	if !broker.Permanent(err) {
		p.Errorf("%v is not permanent", err)
	}
	wantErr(p, err, class, texts...)
}

func (p *place) receive(s broker.Session) broker.Delivery {
	p.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d, err := s.Receive(ctx)
	if err != nil {
		p.Fatalf("receive: %v (session: %v)", err, s.Err())
	}
	return d
}

// receives receives bodies, in that order.
func (p *place) receives(s broker.Session, bodies ...string) (list []broker.Delivery) {
	p.Helper()
	for _, body := range bodies {
		d := p.receive(s)
		if string(d.Message().Body) != body {
			p.Fatalf("received %.40q, not %q", d.Message().Body, body)
		}
		list = append(list, d)
	}
	return list
}

// receivesNothing watches that nothing comes.
func (p *place) receivesNothing(s broker.Session) {
	p.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), quiet)
	defer cancel()
	if d, err := s.Receive(ctx); err == nil {
		p.Errorf("received %.40q", d.Message().Body)
	} else if !errors.Is(err, context.DeadlineExceeded) {
		p.Error(err)
	}
}

// settle settles and returns the outcome.
func (p *place) settle(d broker.Delivery, s broker.Settlement) error {
	p.Helper()
	result := make(chan error, 1)
	d.Settle(s, func(err error) { result <- err })
	select {
	case err := <-result:
		return err
	case <-time.After(patience):
		p.Fatalf("settlement %v did not end", s.Fate)
		return nil
	}
}

func (p *place) mustSettle(d broker.Delivery, s broker.Settlement) {
	p.Helper()
	if err := p.settle(d, s); err != nil {
		p.Fatalf("%v: %v", s.Fate, err)
	}
}

var done = broker.Settlement{Fate: broker.FateDone}

func parked(d broker.Delivery) broker.Settlement {
	c := capture(d)
	c.Reason = broker.ReasonVerdict
	return broker.Settlement{Fate: broker.FatePark, Capture: c}
}

func delayed(d broker.Delivery, rung time.Duration) broker.Settlement {
	return broker.Settlement{Fate: broker.FateDelay, Delay: rung, Capture: capture(d)}
}

func held(d broker.Delivery) broker.Settlement {
	return broker.Settlement{Fate: broker.FateHold, Capture: capture(d)}
}

// capture is what the core would record for a failure of d.
func capture(d broker.Delivery) *broker.Capture {
	m, now := d.Message(), time.Now()
	return &broker.Capture{
		ID: "capture-1", Attempt: m.Attempt + 1, Lap: m.Lap, Crashes: d.Facts().Crashes, Error: "no such customer",
		Origin: m.Origin, FirstFailedAt: now, FailedAt: now, Host: "here",
	}
}

// ended waits for the session's end and returns the reason.
func (p *place) ended(s broker.Session, within time.Duration) error {
	p.Helper()
	select {
	case <-s.Done():
		return s.Err()
	case <-time.After(within):
		p.Fatalf("the session did not end within %v", within)
		return nil
	}
}
