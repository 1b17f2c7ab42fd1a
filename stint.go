package holdfast

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	probeEvery  = 15 * time.Second
	callTimeout = 10 * time.Second

	// cutWait is what handlers get to return after their context has ended.
	cutWait = 2 * time.Second

	// slowAfter is when a running handler is worth an event: five minutes
	// before RabbitMQ's default consumer timeout.
	slowAfter = 25 * time.Minute
)

// stint is the consumer's work on one session.
type stint struct {
	*engine
	session broker.Session
	caps    broker.Capabilities

	// over takes the first reason to end the stint that is not the session's
	// own.
	over chan error

	// ahead is what was received and not let in yet, oldest first. It belongs
	// to the dispatcher.
	ahead    []broker.Delivery
	suspects bool // there is one among them

	// cleared says that, since the last suspect, a delivery was settled that
	// was no redelivery: whatever killed a process is behind us.
	cleared atomic.Bool
	wide    bool // the full prefetch is in force; used by the dispatcher only

	// held has a token after a settlement was refused: the delivery keeps its
	// place although its handler has returned.
	held chan struct{}
}

// serve dispatches deliveries until the session ends, a settlement cannot be
// made, or ctx ends. It leaves no session behind.
func (s *stint) serve(ctx context.Context, cut context.CancelFunc) error {
	dispatch, stop := context.WithCancel(ctx)
	s.wg.Go(func() { s.dispatch(dispatch) })
	err := s.watch(ctx)
	stop()
	if err == nil {
		err = s.drain(cut)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	return errors.Join(err, s.session.Close(closing))
}

// watch returns nil when ctx ends and otherwise the reason to give up the
// session. Meanwhile it proves again and again that messages can arrive.
func (s *stint) watch(ctx context.Context) error {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	var received int64
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.session.Done():
			return s.session.Err()
		case err := <-s.over:
			return err
		case <-tick.C:
			s.reportSlow()
			now := s.ledger.read().Received
			if now == received {
				if err := s.probe(ctx); err != nil {
					return err
				}
			}
			received = now
			s.status.update(func(h *Health) { h.ProvenAt, h.TurnAt = time.Now(), time.Now() })
		}
	}
}

func (s *stint) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := s.session.Probe(ctx)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (s *stint) reportSlow() {
	for i := range s.starts {
		began := s.starts[i].Load()
		if began <= 0 || time.Since(time.Unix(0, began)) < slowAfter {
			continue
		}
		if s.starts[i].CompareAndSwap(began, -began) {
			s.event(Event{
				Kind: EventSlow, Duration: time.Since(time.Unix(0, began)).Round(time.Second),
				Text: "a handler runs for so long that the broker may take its message away; set Policy.Timeout below the broker's own limit",
			})
		}
	}
}

// drain is the graceful stop: no new messages, the running handlers finish,
// their messages are settled.
func (s *stint) drain(cut context.CancelFunc) error {
	s.status.set(StateStopping, nil)
	s.event(Event{Kind: EventStopping})
	pausing, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if err := s.session.Pause(pausing); err != nil {
		cut()
		return nil // the session is over: nothing can be settled any more
	}
	if s.idleWithin(max(s.cfg.Grace, 0)) {
		return nil
	}
	s.event(Event{Kind: EventGraceExpired, Text: fmt.Sprintf("%d handlers run", s.running())})
	cut()
	s.idleWithin(cutWait)
	return nil
}

func (s *stint) idleWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.ledger.downTo(0):
		return true
	case <-s.session.Done():
		return true
	case <-t.C:
		return false
	}
}

// end asks watch to give up the session.
func (s *stint) end(err error) {
	select {
	case s.over <- err:
	default:
	}
}

// notice turns what the driver tells into health and events.
func (s *stint) notice(n broker.Notice) {
	switch n.Kind {
	case broker.NoticeBlocked:
		s.status.update(func(h *Health) { h.Blocked = or(n.Text, "no reason given") })
		s.event(Event{Kind: EventBlocked, Text: n.Text})
	case broker.NoticeUnblocked:
		s.status.update(func(h *Health) { h.Blocked = "" })
		s.event(Event{Kind: EventUnblocked})
	case broker.NoticeReplyUnrouted:
		s.event(Event{Kind: EventReplyLost, Text: n.Text})
	case broker.NoticeReturned:
		s.event(Event{Kind: EventReturned, CaptureID: n.Text})
	case broker.NoticeWarning:
		s.event(Event{Kind: EventWarning, Text: n.Text})
	}
}
