package gcppubsub

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// intake is what a session has in hand and may still ask for. The session's
// lock guards it.
type intake struct {
	prefetch int // 0: paused
	round    int // of Consume; what was delivered before counts for nothing but itself
	sent     int // unsettled deliveries of this round
	asking   int // requests that may still bring something
	buffer   []*delivery

	// keys has the delivery of each ordering key that the core has in hand. The
	// next of the key waits for its end, whatever it is: one that comes again
	// comes before the others.
	keys map[string]*delivery

	consumed bool // ever
	topUp    bool
	asleep   int // streamed deliveries that the broker delays and still counts as out
}

func (s *session) Consume(_ context.Context, prefetch int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return s.err
	case prefetch < 1:
		return fmt.Errorf("gcppubsub: prefetch %d: %w", prefetch, broker.ErrConfig)
	case s.prefetch > 0:
		return fmt.Errorf("gcppubsub: consuming already: %w", broker.ErrConfig)
	}
	s.prefetch, s.sent = prefetch, 0
	s.round++
	s.consumed = true
	s.wake()
	return nil
}

// Pause stops asking, and waits for the end of what was asked: an answer that
// nobody listens to any more may still bring a message, which would then be
// charged for nothing.
func (s *session) Pause(ctx context.Context) error {
	s.mu.Lock()
	if s.prefetch > 0 {
		s.prefetch = 0
		s.wake()
	}
	s.mu.Unlock()
	return s.await(ctx, func() bool { return s.err == nil && s.asking == 0 })
}

func (s *session) Receive(ctx context.Context) (broker.Delivery, error) {
	for {
		s.mu.Lock()
		d, err, changed := s.take(), s.err, s.changed
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

func (s *session) TryReceive() (broker.Delivery, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.take(); d != nil {
		return d, true
	}
	return nil, false
}

// take takes the oldest unread delivery that may run, or nil. The lock is held.
func (s *session) take() *delivery {
	if s.err != nil {
		return nil
	}
	s.buffer = slices.DeleteFunc(s.buffer, func(d *delivery) bool { return d.state != stateOpen })
	i := slices.IndexFunc(s.buffer, func(d *delivery) bool { return s.keys[d.key()] == nil })
	if i < 0 {
		return nil
	}
	d := s.buffer[i]
	s.buffer = slices.Delete(s.buffer, i, i+1)
	if key := d.key(); key != "" {
		s.keys[key] = d
	}
	if len(s.buffer) == 0 {
		s.wake() // more may be asked for
	}
	return d
}

// arrive takes in what a request brought.
func (s *session) arrive(list []*delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range list {
		d.round = s.round
		s.sent++
		s.open[d] = struct{}{}
	}
	s.buffer = append(s.buffer, list...)
	s.wake()
}

// topUpAfter is how long it waits until it asks for the little that is free.
const topUpAfter = 100 * time.Millisecond

// wanted is how many messages to ask for now. To ask for each by itself would
// cost a request per message: half the prefetch must be free, or nothing left
// unread, or a while has passed. The lock is held.
func (s *session) wanted() int {
	free := s.prefetch - s.sent
	if s.prefetch == 0 || free < 1 {
		return 0
	}
	if len(s.buffer) > 0 && free < (s.prefetch+1)/2 && !s.topUp {
		return 0
	}
	return free
}

// topUpLater lets what is free be asked for after a while. The lock is held.
func (s *session) topUpLater() {
	s.topUp = false
	time.AfterFunc(topUpAfter, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.topUp = true
		s.wake()
	})
}

// forget counts a delivery out. The lock is held.
func (s *session) forget(d *delivery) {
	d.state = stateSettled
	delete(s.open, d)
	if key := d.key(); s.keys[key] == d {
		delete(s.keys, key)
	}
	if d.round == s.round && s.sent > 0 {
		s.sent--
	}
	s.wake()
}

// followers takes the unread deliveries of a key out of the session. Pub/Sub
// hands them out again behind the one that comes again. The lock is held.
func (s *session) followers(key string) (list []*delivery) {
	if key == "" {
		return nil
	}
	for _, d := range s.buffer {
		if d.key() == key && d.state == stateOpen {
			list = append(list, d)
		}
	}
	for _, d := range list {
		s.forget(d)
	}
	return list
}
