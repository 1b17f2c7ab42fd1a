package awssqs

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-mq/holdfast/broker"
)

// intake is what a session has in hand and may still ask for. The session's
// lock guards it.
type intake struct {
	prefetch int  // 0: paused
	round    int  // of Consume; what was delivered before counts for nothing but itself
	sent     int  // unsettled deliveries of this round
	order    int  // of the last that was received
	asking   int  // what the receive that is under way may still bring
	filling  bool // the last receive brought something: there may be more
	buffer   []*delivery
	busy     map[string]bool // groups of a FIFO queue of which one is handed out
}

func (s *session) Consume(_ context.Context, prefetch int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return s.err
	case prefetch < 1:
		return fmt.Errorf("awssqs: prefetch %d: %w", prefetch, broker.ErrConfig)
	case s.prefetch > 0:
		return fmt.Errorf("awssqs: consuming already: %w", broker.ErrConfig)
	}
	s.prefetch, s.sent = prefetch, 0
	s.round++
	s.wake()
	return nil
}

// Pause stops asking, and waits for the end of what was asked: a receive that
// is cut off may still have taken messages, which would then be charged for
// nothing. What waits behind one of its group that is handed out goes back,
// since the caller may settle that one only after the pause.
func (s *session) Pause(ctx context.Context) error {
	s.mu.Lock()
	if s.prefetch > 0 {
		s.prefetch = 0
		s.wake()
	}
	s.mu.Unlock()
	if err := s.await(ctx, func() bool { return s.err == nil && s.asking == 0 }); err != nil {
		return err
	}
	s.mu.Lock()
	list := s.takeBlocked()
	s.mu.Unlock()
	s.giveBack(list)
	return nil
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

// take takes the oldest unread delivery of a group that none is handed out of,
// or nil. The lock is held.
func (s *session) take() *delivery {
	if s.err != nil {
		return nil
	}
	i := slices.IndexFunc(s.buffer, func(d *delivery) bool { return !s.busy[s.groupOf(d)] })
	if i < 0 {
		return nil
	}
	d := s.buffer[i]
	s.buffer = slices.Delete(s.buffer, i, i+1)
	d.read = true
	if group := s.groupOf(d); group != "" {
		s.busy[group] = true
	}
	if len(s.buffer) == 0 {
		s.wake() // more may be asked for
	}
	return d
}

// groupOf is the group whose order binds a delivery, and empty on a standard
// queue, where groups bind nothing.
func (s *session) groupOf(d *delivery) string {
	if s.source.fifo {
		return d.letter.group
	}
	return ""
}

// takeBlocked takes out what waits behind one of its group. The lock is held.
func (s *session) takeBlocked() []*delivery {
	return s.takeUnread(func(d *delivery) bool { return s.busy[s.groupOf(d)] })
}

// takeUnread takes unread deliveries out of the session, to be given back. The
// lock is held.
func (s *session) takeUnread(which func(*delivery) bool) (list []*delivery) {
	s.buffer = slices.DeleteFunc(s.buffer, func(d *delivery) bool {
		if !which(d) {
			return false
		}
		list = append(list, d)
		return true
	})
	for _, d := range list {
		s.forget(d, stateSettled)
	}
	return list
}

// wanted is how many messages to ask for now. To ask for each by itself would
// cost a request per message: while nothing more is known to wait, half the
// prefetch must be free, or nothing left unread. The lock is held.
func (s *session) wanted() int {
	free := s.prefetch - s.sent
	if s.prefetch == 0 || free < 1 {
		s.filling = false
		return 0
	}
	if !s.filling && len(s.buffer) > 0 && free < (s.prefetch+1)/2 {
		return 0
	}
	if s.source.fifo {
		return min(free, s.broker.conf.GroupBatch)
	}
	return min(free, maxBatch)
}

// forget counts a delivery out. The lock is held.
func (s *session) forget(d *delivery, as state) {
	if _, there := s.open[d]; !there && d.state >= stateSettled {
		return
	}
	d.state = as
	delete(s.open, d)
	if group := s.groupOf(d); group != "" && d.read {
		delete(s.busy, group)
	}
	if d.round == s.round && s.sent > 0 {
		s.sent--
	}
	s.wake()
}
