package jetstream

import (
	"context"
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

// intake is what a session has in hand and may still ask for. The session's
// lock guards it.
type intake struct {
	prefetch int // 0: paused
	round    int // of Consume; what was delivered before counts for nothing but itself
	sent     int // unsettled deliveries of this round
	asking   int // what the pull that is under way may still bring
	buffer   []*delivery

	unread chan struct{} // has a token after something came that may be read
	room   chan struct{} // has a token after more became free to ask for
	pulled chan struct{} // has a token after a pull has brought all
}

func newIntake() intake {
	return intake{unread: make(chan struct{}, 1), room: make(chan struct{}, 1), pulled: make(chan struct{}, 1)}
}

// signal puts a token where there is none.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (s *session) Consume(_ context.Context, prefetch int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return s.err
	case prefetch < 1:
		return fmt.Errorf("jetstream: prefetch %d: %w", prefetch, broker.ErrConfig)
	case s.prefetch > 0:
		return fmt.Errorf("jetstream: consuming already: %w", broker.ErrConfig)
	}
	s.prefetch, s.sent = prefetch, 0
	s.round++
	signal(s.room)
	return nil
}

// Pause stops asking, and waits for the end of what was asked: a pull request
// cannot be taken back, and one that nobody listens to any more may still
// bring a message, which would then be charged for nothing.
func (s *session) Pause(ctx context.Context) error {
	s.mu.Lock()
	s.prefetch = 0
	signal(s.unread) // whoever receives is to see that it is paused
	s.mu.Unlock()
	return s.await(ctx, func() bool { return s.err == nil && s.asking == 0 })
}

func (s *session) Receive(ctx context.Context) (broker.Delivery, error) {
	for {
		d, err := s.next()
		switch {
		case err != nil:
			return nil, err
		case d != nil:
			return d, nil
		}
		select {
		case <-s.unread:
		case <-s.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *session) TryReceive() (broker.Delivery, bool) {
	if d, err := s.next(); d != nil && err == nil {
		return d, true
	}
	return nil, false
}

// next takes the oldest unread delivery, or nil.
func (s *session) next() (*delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return nil, s.err
	case len(s.buffer) == 0 && s.prefetch == 0 && s.asking == 0:
		signal(s.unread) // for the next who asks
		return nil, broker.ErrPaused
	case len(s.buffer) == 0:
		return nil, nil
	}
	d := s.buffer[0]
	s.buffer[0] = nil
	s.buffer = s.buffer[1:]
	if len(s.buffer) > 0 {
		signal(s.unread) // others may be waiting too
	}
	return d, nil
}

// offer tells the puller that there is something to ask for. The lock is held.
func (s *session) offer() {
	if n := s.wanted(); s.asking == 0 && (n == 1 || s.worthwhile(n)) {
		signal(s.room)
	}
}

// arrive takes in what a pull brought. What comes after the end goes back: the
// server sent it before it heard that nobody listens.
func (s *session) arrive(d *delivery) {
	if !s.takeIn(d) {
		s.giveBack(d)
	}
}

// takeIn counts what a pull brought, and reports whether the session lives.
func (s *session) takeIn(d *delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = max(s.asking-1, 0) // a server that sends more must not make a pause wait for ever
	if s.asking == 0 {
		signal(s.pulled)
	}
	if s.err != nil {
		d.state = stateSettled
		return false
	}
	d.round = s.round
	s.sent++
	s.open[d] = struct{}{}
	s.buffer = append(s.buffer, d)
	signal(s.unread)
	return true
}

// wanted is how many messages may be asked for. The lock is held.
func (s *session) wanted() int {
	if s.prefetch == 0 {
		return 0
	}
	return max(s.prefetch-s.sent, 0)
}

// worthwhile reports whether n messages deserve a request: a quarter of the
// prefetch, or any when nothing is in hand. The lock is held.
func (s *session) worthwhile(n int) bool {
	return n > 0 && (n >= (s.prefetch+3)/4 || len(s.open) <= s.handed)
}

// told counts a delivery out of the prefetch: the server was told of its fate.
// The lock is held.
func (s *session) told(d *delivery) {
	if d.state != stateTold {
		d.state = stateTold
		if d.round == s.round && s.sent > 0 {
			s.sent--
		}
		s.offer()
	}
}

// forget counts a delivery out of the session. The lock is held.
func (s *session) forget(d *delivery) {
	s.told(d)
	d.state = stateSettled
	delete(s.open, d)
	s.wake()
}
