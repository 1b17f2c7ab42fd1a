package membroker

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-mq/holdfast/broker"
)

// session is one attachment to a queue. The server's lock guards it.
type session struct {
	server *server
	broker *Broker
	queue  *queue
	sub    broker.Subscription
	caps   broker.Capabilities

	prefetch int // 0 while paused
	round    int // which Consume it is
	sent     int // unsettled deliveries of this round
	buffer   []*delivery
	open     map[*delivery]struct{} // all that are not settled
	waiting  int                    // settlements that wait for the end of a block

	changed chan struct{} // closed and made anew when something above changes
	done    chan struct{}
	err     error
}

func newSession(b *Broker, q *queue, sub broker.Subscription) *session {
	s := &session{
		server: b.server, broker: b, queue: q, sub: sub, caps: b.server.caps,
		open: map[*delivery]struct{}{}, changed: make(chan struct{}), done: make(chan struct{}),
	}
	s.caps.Hold = s.caps.Hold && !q.transient
	return s
}

// declarePlaces makes what the failure path needs.
func (s *session) declarePlaces() {
	s.server.declare(ParkedQueue(s.queue.name))
	if s.caps.Hold {
		s.server.declare(HoldQueue(s.queue.name))
	}
	if s.caps.Delay {
		for _, rung := range s.sub.Rungs {
			s.server.declare(RungQueue(rung))
		}
	}
}

func (s *session) Capabilities() broker.Capabilities { return s.caps }

func (s *session) Consume(_ context.Context, prefetch int) error {
	s.server.lock()
	defer s.server.unlock()
	switch {
	case s.err != nil:
		return s.err
	case prefetch < 1:
		return fmt.Errorf("membroker: prefetch %d: %w", prefetch, broker.ErrConfig)
	case s.prefetch > 0:
		return fmt.Errorf("membroker: consuming already: %w", broker.ErrConfig)
	}
	s.prefetch, s.sent = prefetch, 0
	s.round++
	s.queue.consumers = append(s.queue.consumers, s)
	s.queue.dispatch()
	return nil
}

func (s *session) Pause(context.Context) error {
	s.server.lock()
	defer s.server.unlock()
	if s.err != nil {
		return s.err
	}
	s.pause()
	return nil
}

func (s *session) pause() {
	s.prefetch = 0
	s.queue.dropConsumer(s)
	s.wake()
}

// wake tells whoever waits in Receive or Close to look again.
func (s *session) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *session) Receive(ctx context.Context) (broker.Delivery, error) {
	for {
		d, changed, err := s.next()
		if d != nil || err != nil {
			return d, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *session) TryReceive() (broker.Delivery, bool) {
	d, _, err := s.next()
	return d, d != nil && err == nil
}

// next returns a delivery, or an error, or what to wait for. The interface is
// nil, and not one that holds a nil, when there is no delivery.
func (s *session) next() (broker.Delivery, <-chan struct{}, error) {
	s.server.lock()
	defer s.server.unlock()
	switch {
	case s.err != nil:
		return nil, nil, s.err
	case len(s.buffer) > 0:
		d := s.buffer[0]
		s.buffer = s.buffer[1:]
		return d, nil, nil
	case s.prefetch == 0:
		return nil, nil, broker.ErrPaused
	}
	return nil, s.changed, nil
}

// send puts a delivery on its way.
func (s *session) send(e *entry) {
	d := newDelivery(s, e)
	s.sent++
	s.open[d] = struct{}{}
	s.buffer = append(s.buffer, d)
	s.wake()
}

func (s *session) Probe(context.Context) error {
	s.server.lock()
	defer s.server.unlock()
	switch {
	case s.err != nil:
		return s.err
	case s.prefetch > 0 && !slices.Contains(s.queue.consumers, s):
		return fmt.Errorf("membroker: probe %q: %w", s.queue.name, broker.ErrDetached)
	}
	return nil
}

func (s *session) Done() <-chan struct{} { return s.done }

func (s *session) Err() error {
	s.server.lock()
	defer s.server.unlock()
	return s.err
}

func (s *session) Close(ctx context.Context) error {
	cut := s.drain(ctx)
	s.server.lock()
	defer s.server.unlock()
	if s.err != nil {
		return nil
	}
	s.end(broker.ErrClosed, !s.caps.FreeRelease)
	if cut > 0 {
		return fmt.Errorf("membroker: %d settlements were cut off: %w", cut, context.Cause(ctx))
	}
	return nil
}

// drain pauses and waits for the settlements that wait for the end of a block.
// It returns how many were left when ctx ended.
func (s *session) drain(ctx context.Context) int {
	for {
		n, changed := s.left()
		if n == 0 {
			return 0
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return n
		}
	}
}

func (s *session) left() (int, <-chan struct{}) {
	s.server.lock()
	defer s.server.unlock()
	if s.err != nil {
		return 0, nil
	}
	if s.prefetch > 0 {
		s.pause()
	}
	return s.waiting, s.changed
}

func (s *session) notify(kind broker.NoticeKind, text string) {
	if s.sub.Notify != nil {
		s.server.later(func() { s.sub.Notify(broker.Notice{Kind: kind, Text: text}) })
	}
}

// end ends the session and gives back what is not settled; charge says whether
// the broker counts that.
func (s *session) end(reason error, charge bool) {
	if s.err != nil {
		return
	}
	s.err = reason
	s.pause()
	close(s.done)
	s.server.sessions = slices.DeleteFunc(s.server.sessions, func(o *session) bool { return o == s })
	s.server.cutWaiting(s)
	for d := range s.open {
		d.entry.giveBack(charge)
		s.queue.putBack(d.entry)
	}
	clear(s.open)
	s.buffer = nil
	s.queue.dispatch()
}

func (s *server) sessionsOf(which func(*session) bool) []*session {
	var found []*session
	for _, session := range s.sessions {
		if which(session) {
			found = append(found, session)
		}
	}
	return found
}
