package holdfast

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// dispatch receives deliveries and starts their handlers.
//
// A message that kills the process takes its neighbours with it: the broker
// charges everything that was prefetched. So a consumer begins with one
// message at a time and goes on so until a delivery that is no redelivery was
// settled; and when it meets a suspect later (another process died), it runs
// that one alone. Only what was really running is charged again.
func (s *stint) dispatch(ctx context.Context) {
	err := s.narrow(ctx)
	if err == nil {
		s.status.set(StateAttached, nil)
		s.status.update(func(h *Health) { h.Broker, h.OneAtATime = s.caps.Broker, true })
		s.event(Event{Kind: EventAttached, Text: s.caps.Broker})
	}
	for err == nil {
		var d broker.Delivery
		if d, err = s.session.Receive(ctx); err != nil {
			break
		}
		s.ledger.received()
		err = s.admit(ctx, d)
	}
	if ctx.Err() == nil {
		s.end(err)
	}
}

// admit lets one delivery in, in the mode that it calls for.
func (s *stint) admit(ctx context.Context, d broker.Delivery) error {
	suspect := isSuspect(d)
	switch {
	case suspect && s.wide:
		return s.isolate(ctx, d)
	case suspect:
		s.cleared.Store(false)
	case !s.wide && s.cleared.Load() && s.cfg.Prefetch > 1:
		if err := s.widen(ctx); err != nil {
			s.abandon()
			return err
		}
	}
	s.take(ctx, d)
	return nil
}

// isSuspect reports whether d may be what killed a process. A delivery that is
// only stamped and released does not run and can kill nothing.
func isSuspect(d broker.Delivery) bool {
	f := d.Facts()
	return f.Crashes > 0 && !f.Unstamped
}

func (s *stint) narrow(ctx context.Context) error {
	s.cleared.Store(false)
	s.wide = false
	return s.session.Consume(ctx, 1)
}

func (s *stint) widen(ctx context.Context) error {
	if err := s.session.Pause(ctx); err != nil {
		return err
	}
	s.wide = true
	s.status.update(func(h *Health) { h.OneAtATime = false })
	return s.session.Consume(ctx, s.cfg.Prefetch)
}

// isolate gives back every suspect that is in hand, so that none of them is
// charged for what the rest may do, finishes the rest, and goes on with one
// message at a time: the suspects come again, each alone.
func (s *stint) isolate(ctx context.Context, suspect broker.Delivery) error {
	s.event(Event{Kind: EventIsolated, MessageID: suspect.Message().ID, Crashes: suspect.Facts().Crashes})
	s.status.update(func(h *Health) { h.OneAtATime = true })
	inHand := s.ledger.inFlight() - 1 // running, or being settled
	if err := s.session.Pause(ctx); err != nil {
		s.abandon()
		return err
	}
	s.putBack(suspect)
	var rest []broker.Delivery
	for {
		d, err := s.session.Receive(ctx)
		if errors.Is(err, broker.ErrPaused) {
			break
		}
		if err != nil {
			s.abandonAll(rest)
			return err
		}
		s.ledger.received()
		if isSuspect(d) {
			s.putBack(d)
		} else {
			rest = append(rest, d)
		}
	}
	if err := s.waitFor(ctx, inHand+int64(len(rest))); err != nil {
		s.abandonAll(rest)
		return err
	}
	for _, d := range rest {
		s.take(ctx, d)
	}
	if err := s.waitFor(ctx, 0); err != nil {
		return err
	}
	return s.narrow(ctx)
}

// putBack gives a suspect back without a charge: by a stamped copy where a
// plain release would be counted.
func (s *stint) putBack(d broker.Delivery) {
	f := d.Facts()
	dec := decision{fate: broker.FateRelease, attempt: max(d.Message().Attempt, 1), lap: d.Message().Lap, crashes: f.Crashes}
	dec.stamped = s.caps.Stamp && !s.caps.FreeRelease
	s.settle(&job{d: d, decision: dec})
}

// waitFor waits until at most n deliveries are in hand.
func (s *stint) waitFor(ctx context.Context, n int64) error {
	select {
	case <-s.ledger.downTo(n):
		return nil
	case <-s.session.Done():
		return s.session.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// abandon writes off a delivery that was received and not begun: the end of
// the session gives it back.
func (s *stint) abandon() { s.ledger.settled(broker.FateRelease) }

func (s *stint) abandonAll(all []broker.Delivery) {
	for range all {
		s.abandon()
	}
}

// take runs the handler on d once a slot is free, or settles d without it. The
// slot, and not the session, bounds the handlers.
func (s *stint) take(ctx context.Context, d broker.Delivery) {
	j := &job{d: d, facts: s.factsOf(d)}
	j.decision = admit(s.cfg.Policy, j.facts)
	if !j.decision.run {
		s.settleUnrun(j)
		return
	}
	var slot int
	select {
	case slot = <-s.slots:
	default:
		select {
		case slot = <-s.slots:
		case <-s.session.Done():
			s.abandon()
			return
		case <-ctx.Done():
			s.abandon()
			return
		}
	}
	if cap(s.slots) == 1 {
		s.run(ctx, j, slot) // in place: a goroutine would buy nothing
		return
	}
	s.wg.Go(func() { s.run(ctx, j, slot) })
}

func (s *stint) factsOf(d broker.Delivery) facts {
	f, m := d.Facts(), d.Message()
	if f.CaptureErr != nil {
		s.event(Event{Kind: EventBadCapture, MessageID: m.ID, Origin: m.Origin, Err: f.CaptureErr})
	}
	out := facts{
		attempt: max(m.Attempt, 1), lap: m.Lap, crashes: f.Crashes,
		unstamped: f.Unstamped && s.caps.Stamp, oversize: f.Oversize,
		canDelay: s.caps.Delay, canHold: s.caps.Hold,
	}
	if f.Capture != nil && !f.Capture.NotBefore.IsZero() {
		out.early = time.Until(f.Capture.NotBefore)
	}
	return out
}
