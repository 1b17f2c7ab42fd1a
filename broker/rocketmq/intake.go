package rocketmq

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
	asking   int // what the pop that is under way may still bring
	buffer   []*delivery
}

// Consume implements [broker.Session].
func (s *session) Consume(_ context.Context, prefetch int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return s.err
	case prefetch < 1:
		return fmt.Errorf("rocketmq: prefetch %d: %w", prefetch, broker.ErrConfig)
	case s.prefetch > 0:
		return fmt.Errorf("rocketmq: consuming already: %w", broker.ErrConfig)
	}
	s.prefetch, s.sent = prefetch, 0
	s.round++
	s.wake()
	return nil
}

// Pause stops asking, and waits for the end of what was asked: a pop cannot be
// taken back, and one that nobody listens to any more may still take messages
// along, which are then charged for nothing.
func (s *session) Pause(ctx context.Context) error {
	s.stopAsking()
	return s.await(ctx, func() bool { return s.err == nil && s.asking == 0 })
}

func (s *session) stopAsking() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prefetch > 0 {
		s.prefetch = 0
		s.wake()
	}
}

// Receive implements [broker.Session].
func (s *session) Receive(ctx context.Context) (broker.Delivery, error) {
	for {
		s.mu.Lock()
		d, err, changed := s.take(), s.err, s.waitForChange()
		if err == nil && d == nil && s.prefetch == 0 && s.asking == 0 {
			err = broker.ErrPaused
		}
		s.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case d != nil:
			return d, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// TryReceive implements [broker.Session].
func (s *session) TryReceive() (broker.Delivery, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.take(); d != nil {
		return d, true
	}
	return nil, false
}

// take takes the oldest unread delivery, or nil. The lock is held.
func (s *session) take() *delivery {
	if s.err != nil || len(s.buffer) == 0 {
		return nil
	}
	d := s.buffer[0]
	s.buffer[0] = nil
	s.buffer = s.buffer[1:]
	if len(s.buffer) == 0 {
		s.wake() // more may be asked for
	}
	return d
}

// arrive takes in what a pop brought. What comes after the end of the session
// is lost to it as what it had open was.
func (s *session) arrive(list []*delivery) {
	s.mu.Lock()
	s.asking = 0
	late := s.err != nil
	for _, d := range list {
		if late {
			d.state = stateSettled
			continue
		}
		d.round = s.round
		s.sent++
		s.open[d] = struct{}{}
		s.buffer = append(s.buffer, d)
	}
	s.wake()
	s.mu.Unlock()
	if late {
		s.lose(list)
	}
}

// wanted is how many messages to ask for now. To ask for each by itself would
// cost a request per message: a quarter of the prefetch must be free, or
// nothing left unread. The lock is held.
func (s *session) wanted() int {
	free := s.prefetch - s.sent
	if s.prefetch == 0 || free < 1 {
		return 0
	}
	if len(s.buffer) > 0 && free < (s.prefetch+3)/4 {
		return 0
	}
	return min(free, maxPop)
}

// forget counts a delivery out. The lock is held.
func (s *session) forget(d *delivery) {
	d.state = stateSettled
	delete(s.open, d)
	if d.round == s.round && s.sent > 0 {
		s.sent--
	}
	s.wake()
}
