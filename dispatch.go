package holdfast

import (
	"context"
	"errors"
	"slices"
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
	defer s.abandonAhead() // deferred, since a handler may end this goroutine
	err := s.narrow(ctx)
	if err == nil {
		s.status.set(StateAttached, nil)
		s.status.update(func(h *Health) { h.Broker, h.OneAtATime = s.caps.Broker, true })
		s.event(Event{Kind: EventAttached, Text: s.caps.Broker})
		s.tellFindings(s.caps)
	}
	for err == nil {
		if released := s.brake.on(); released != nil {
			err = s.standStill(ctx, released)
		} else {
			err = s.step(ctx)
		}
	}
	if ctx.Err() == nil {
		s.end(err)
	}
}

func (s *stint) abandonAhead() {
	s.abandon(len(s.ahead))
	s.ahead = nil
}

// step lets one delivery in, in the mode that what is at hand calls for.
func (s *stint) step(ctx context.Context) error {
	if len(s.ahead) == 0 {
		d, err := s.receive(ctx)
		if err != nil || d == nil {
			return err
		}
		s.keep(d)
	}
	if s.wide {
		s.lookAhead()
		if s.suspects {
			return s.isolate(ctx)
		}
	}
	d := s.ahead[0]
	switch {
	case s.suspects:
		s.suspects = false // it is the only one in hand, and runs alone
		s.cleared.Store(false)
	case !s.wide && s.cleared.Load() && s.cfg.Prefetch > 1:
		if err := s.widen(ctx); err != nil {
			return err
		}
	}
	s.ahead[0] = nil
	s.ahead = s.ahead[1:]
	s.take(ctx, d)
	return nil
}

// receive returns the next delivery. One at a time, none can come while the one
// in hand is stuck: a message whose copy is refused would stop all others. Once
// its handler has returned it has killed nobody, and the full prefetch is taken;
// then there is no delivery yet and no error. So it is when the brake trips.
func (s *stint) receive(ctx context.Context) (broker.Delivery, error) {
	narrow := !s.wide && s.cfg.Prefetch > 1
	if !narrow && s.brake == nil {
		return s.session.Receive(ctx)
	}
	waiting, cancel := s.brake.watch(ctx, false)
	defer cancel()
	if narrow {
		s.wg.Go(func() {
			select {
			case <-s.held:
				cancel()
			case <-waiting.Done():
			}
		})
	}
	d, err := s.session.Receive(waiting)
	switch {
	case err == nil || waiting.Err() == nil || ctx.Err() != nil:
		return d, err
	case narrow && s.brake.on() == nil:
		return nil, s.widen(ctx)
	default:
		return nil, nil // the brake tripped
	}
}

// lookAhead takes in hand what the broker has sent. A suspect is to be seen
// before anything that was sent ahead of it may end the process.
func (s *stint) lookAhead() {
	for {
		d, ok := s.session.TryReceive()
		if !ok {
			return
		}
		s.keep(d)
	}
}

func (s *stint) keep(d broker.Delivery) {
	s.ledger.received()
	s.ahead = append(s.ahead, d)
	s.suspects = s.suspects || isSuspect(d)
}

// isSuspect reports whether d may be what killed a process. A delivery that is
// only stamped and released does not run and can kill nothing.
func isSuspect(d broker.Delivery) bool {
	f := d.Facts()
	return f.Crashes > 0 && !f.Unstamped
}

func (s *stint) narrow(ctx context.Context) error {
	s.cleared.Store(false)
	s.wide, s.suspects = false, false
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
func (s *stint) isolate(ctx context.Context) error {
	s.status.update(func(h *Health) { h.OneAtATime = true })
	busy := s.ledger.inFlight() - int64(len(s.ahead)) // running, or being settled
	if err := s.takeInHand(ctx); err != nil {
		return err
	}
	for _, d := range s.ahead {
		if isSuspect(d) {
			s.event(Event{Kind: EventIsolated, MessageID: d.Message().ID, Crashes: d.Facts().Crashes})
			s.putBack(d)
		}
	}
	s.ahead = slices.DeleteFunc(s.ahead, isSuspect)
	if err := s.waitFor(ctx, busy+int64(len(s.ahead))); err != nil {
		return err
	}
	for len(s.ahead) > 0 {
		if s.brake.on() != nil {
			return nil // they go back
		}
		d := s.ahead[0]
		s.ahead = s.ahead[1:]
		s.take(ctx, d)
	}
	if err := s.waitFor(ctx, 0); err != nil {
		return err
	}
	return s.narrow(ctx)
}

// takeInHand stops the flow and receives all that was on its way.
func (s *stint) takeInHand(ctx context.Context) error {
	if err := s.session.Pause(ctx); err != nil {
		return err
	}
	for {
		d, err := s.session.Receive(ctx)
		if errors.Is(err, broker.ErrPaused) {
			return nil
		}
		if err != nil {
			return err
		}
		s.keep(d)
	}
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

// abandon writes off n deliveries that were received and not begun: the end of
// the session gives them back.
func (s *stint) abandon(n int) {
	for range n {
		s.ledger.settled(broker.FateRelease)
	}
}

// take runs the handler on d once a slot is free, or settles d without it. The
// slot, and not the session, bounds the handlers. After the end of the session
// or the call to stop nothing is begun any more.
func (s *stint) take(ctx context.Context, d broker.Delivery) {
	select {
	case <-ctx.Done():
		s.abandon(1)
		return
	case <-s.session.Done():
		s.abandon(1)
		return
	default:
	}
	j := &job{d: d, facts: s.factsOf(d)}
	j.decision = admit(s.cfg.Policy, j.facts)
	if !j.decision.run {
		s.settleUnrun(j)
		return
	}
	var slot int
	select {
	case slot = <-s.slots:
	case <-s.session.Done():
		s.abandon(1)
		return
	case <-ctx.Done():
		s.abandon(1)
		return
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
		counted: s.caps.Attempts, base: 1,
		unstamped: f.Unstamped && s.caps.Stamp, oversize: f.Oversize,
		canDelay: s.caps.Delay, canHold: s.caps.Hold,
	}
	if f.Capture != nil {
		out.base = f.Capture.Attempt
	}
	if f.Capture != nil && !f.Capture.NotBefore.IsZero() {
		out.early = time.Until(f.Capture.NotBefore)
	}
	return out
}
