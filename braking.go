package holdfast

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// braking is the brake of one consumer, over all its sessions.
type braking struct {
	mu     sync.Mutex
	window brakeWindow
	braked string        // the fingerprint; empty while the brake is released
	since  time.Time     // of braked
	probe  *Message      // the one that was let in
	wake   func()        // ends the dispatcher's wait for a delivery
	open   chan struct{} // closed at the release
	probed chan struct{} // has a token once the probe has a fate
}

func newBraking(cfg Brake) *braking {
	return &braking{window: brakeWindow{cfg: cfg}, probed: make(chan struct{}, 1)}
}

// ruled is what the brake makes of a fate.
type ruled struct {
	withheld    bool // the message is released and not parked
	tripped     bool
	released    bool
	fingerprint string
}

// rule counts the fate of m. A message that would be parked for what the brake is
// on for is withheld, except the probe.
func (b *braking) rule(m *Message, fate broker.Fate, fingerprint string, now time.Time) (r ruled) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.braked != "" {
		return b.ruleBraked(m, fate, fingerprint)
	}
	switch fate {
	case broker.FateDone, broker.FateDiscard, broker.FatePark:
	default:
		return r // it comes back
	}
	if !b.window.add(now, fingerprint) {
		return r
	}
	b.braked, b.since, b.open = fingerprint, now, make(chan struct{})
	if b.wake != nil {
		b.wake()
	}
	return ruled{withheld: true, tripped: true, fingerprint: fingerprint}
}

func (b *braking) ruleBraked(m *Message, fate broker.Fate, fingerprint string) (r ruled) {
	r.fingerprint = b.braked
	if m != b.probe {
		r.withheld = fingerprint == b.braked
		return r
	}
	b.probe = nil
	if r.released = fate == broker.FateDone; r.released {
		b.release()
	}
	b.probed <- struct{}{}
	return r
}

// release begins anew: what was counted before tells nothing of what is mended.
func (b *braking) release() {
	b.braked, b.since, b.probe = "", time.Time{}, nil
	b.window = brakeWindow{cfg: b.window.cfg}
	close(b.open)
	if b.wake != nil {
		b.wake()
	}
}

// releaseByHand reports whether the brake was on, and for what.
func (b *braking) releaseByHand() (fingerprint string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if fingerprint = b.braked; fingerprint != "" {
		b.release()
	}
	return fingerprint
}

// on returns a channel that is closed at the release, or nil while the brake is
// not on.
func (b *braking) on() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.braked == "" {
		return nil
	}
	return b.open
}

// state returns what the brake is on for, and since when.
func (b *braking) state() (fingerprint string, since time.Time) {
	if b == nil {
		return "", time.Time{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.braked, b.since
}

// watch returns a context for the wait for a delivery: it has ended once the brake
// is not any more as the dispatcher knows it, on or off.
func (b *braking) watch(ctx context.Context, on bool) (context.Context, context.CancelFunc) {
	waiting, cancel := context.WithCancel(ctx)
	if b == nil {
		return waiting, cancel
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake = cancel
	if on != (b.braked != "") {
		cancel()
	}
	return waiting, cancel
}

// letIn makes m the probe.
func (b *braking) letIn(m *Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.probed: // of a session that ended before it was read
	default:
	}
	b.probe = m
}

// ReleaseBrake lets a braked consumer go on, once what it stopped for is mended. It
// reports whether the brake was on.
func (c *Consumer) ReleaseBrake() bool {
	if c.brake == nil {
		return false
	}
	fingerprint := c.brake.releaseByHand()
	if fingerprint == "" {
		return false
	}
	c.unbraked(fingerprint, "released by hand")
	return true
}

func (e *engine) unbraked(fingerprint, text string) {
	e.event(Event{Kind: EventUnbraked, Fingerprint: fingerprint, Text: text})
}

// rule lets the brake have its say on a fate that was decided.
func (s *stint) rule(j *job) {
	if s.brake == nil || j.ruled {
		return
	}
	j.ruled = true
	fingerprint := ""
	if j.decision.fate == broker.FatePark {
		fingerprint = fingerprintOf(s.cfg.Queue, j.decision.reason, j.cause)
	}
	r := s.brake.rule(j.d.Message(), j.decision.fate, fingerprint, time.Now())
	if r.tripped {
		s.tellBraked(j, r.fingerprint)
	}
	if r.withheld {
		j.decision = withhold(j.decision, s.caps)
	}
	if r.released {
		s.unbraked(r.fingerprint, "a probe succeeded")
	}
}

func (s *stint) tellBraked(j *job, fingerprint string) {
	ev := s.eventOf(EventBraked, j, s.cfg.Brake.Probe, j.cause)
	ev.Fingerprint = fingerprint
	ev.Text = "most messages would be parked for this one cause: the consumer stands still; mend the cause, then release the brake"
	s.event(ev)
}

// withhold turns a park into a release that charges as little as the broker can.
func withhold(d decision, caps broker.Capabilities) decision {
	d.fate, d.wait = broker.FateRelease, 0
	d.stamped = caps.Stamp && !caps.FreeRelease
	if d.reason != broker.ReasonCrashLoop {
		d.crashes = 0 // the handler returned: it has killed nobody
	}
	d.reason = ""
	return d
}

// standStill is the dispatcher's work while the brake is on: what is in hand goes
// back, and one probe after the other is let in, until the brake is released. The
// session stays attached.
func (s *stint) standStill(ctx context.Context, released <-chan struct{}) error {
	for {
		if err := s.giveBack(ctx); err != nil {
			return err
		}
		over, err := s.awaitProbe(ctx, released)
		if err != nil {
			return err
		}
		if over {
			break
		}
		if err := s.probeBrake(ctx, released); err != nil {
			return err
		}
	}
	if err := s.giveBack(ctx); err != nil { // a probe that came too late
		return err
	}
	s.status.update(func(h *Health) { h.OneAtATime = true })
	return s.narrow(ctx)
}

// giveBack stops the flow and gives back all that is in hand and not begun.
func (s *stint) giveBack(ctx context.Context) error {
	if err := s.takeInHand(ctx); err != nil {
		return err
	}
	for _, d := range s.ahead {
		s.putBack(d)
	}
	s.ahead, s.suspects = nil, false
	return nil
}

// awaitProbe waits until a probe is due. It reports whether the brake was released
// first.
func (s *stint) awaitProbe(ctx context.Context, released <-chan struct{}) (over bool, err error) {
	var due <-chan time.Time
	if s.cfg.Brake.Probe > 0 {
		t := time.NewTimer(s.cfg.Brake.Probe)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-released:
		return true, nil
	case <-due:
		return false, nil
	case <-s.session.Done():
		return false, s.session.Err()
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// probeBrake lets one message in, waits for its fate and stops the flow meanwhile.
func (s *stint) probeBrake(ctx context.Context, released <-chan struct{}) error {
	if err := s.session.Consume(ctx, 1); err != nil {
		return err
	}
	d, err := s.receiveProbe(ctx)
	if err != nil || d == nil {
		return err
	}
	if err := s.session.Pause(ctx); err != nil {
		s.keep(d) // it is abandoned with the session
		return err
	}
	s.ledger.received()
	s.brake.letIn(d.Message())
	s.take(ctx, d)
	select {
	case <-s.brake.probed:
		return nil
	case <-released:
		return nil
	case <-s.session.Done():
		return s.session.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// receiveProbe waits for a delivery. There is none, and no error, when the brake is
// released meanwhile.
func (s *stint) receiveProbe(ctx context.Context) (broker.Delivery, error) {
	waiting, cancel := s.brake.watch(ctx, true)
	defer cancel()
	d, err := s.session.Receive(waiting)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return d, err
}
