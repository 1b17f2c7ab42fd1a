package gcppubsub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// pullFor is how long a pull waits for a message: so long may a pause
	// take, and what has come back may wait behind a source that is silent.
	pullFor = time.Second

	// backEvery is how often it is asked for what has come back.
	backEvery = 500 * time.Millisecond

	// perPull is the most that the service gives in one answer.
	perPull = 1000
)

// receive brings messages for as long as the session lives and has room.
func (s *session) receive() {
	for s.await(s.over, func() bool { return s.wanted() > 0 }) == nil {
		if s.streams() {
			s.stream()
			continue
		}
		s.pulls()
	}
}

// pulls asks one request at a time until the flow is paused, so that what is
// asked for and what is unsettled never exceed the prefetch together, over
// both subscriptions.
func (s *session) pulls() {
	var lastBack time.Time
	for s.await(s.over, func() bool { return s.wanted() > 0 || s.prefetch == 0 }) == nil {
		if time.Since(lastBack) >= backEvery {
			lastBack = time.Now()
			n, ok := s.pull(flowBack, perPull, 0)
			switch {
			case !ok:
				return
			case n > 0:
				lastBack = time.Time{} // there may be more
			}
		}
		if _, ok := s.pull(flowSource, perPull, pullFor); !ok {
			return
		}
	}
}

// pull makes one request for as much as is wanted now, and at most most. It
// reports false when there is nothing more to ask.
func (s *session) pull(from flow, most int, wait time.Duration) (n int, ok bool) {
	s.mu.Lock()
	paused, want := s.prefetch == 0, min(s.wanted(), most)
	if want > 0 {
		s.asking++
	}
	s.mu.Unlock()
	if paused || want == 0 {
		return 0, !paused
	}
	list, err := s.ask(from, want, wait)
	s.arrived(from, list, false)
	s.mu.Lock()
	s.asking--
	s.topUpLater()
	s.wake()
	s.mu.Unlock()
	if err != nil {
		s.end(err)
	}
	return len(list), err == nil
}

func (s *session) ask(from flow, n int, wait time.Duration) ([]*pubsubpb.ReceivedMessage, error) {
	bound := wait
	if wait == 0 {
		bound = s.conn.call
	}
	ctx, cancel := context.WithTimeout(s.over, bound)
	defer cancel()
	list, err := s.conn.pull(ctx, s.subscriptions[from], n, wait == 0)
	if wait > 0 && code(err) == codes.DeadlineExceeded {
		return list, nil // nothing came
	}
	return list, s.judge(from, err)
}

// judge gives the error of a request for messages its class: a subscription
// that is gone was deleted under the session.
func (s *session) judge(from flow, err error) error {
	if err == nil {
		return nil
	}
	err = classify("pull from "+s.subscriptions[from], "pubsub.subscriptions.consume", err)
	if errors.Is(err, broker.ErrMissing) {
		return fmt.Errorf("%w: %w", broker.ErrDetached, err)
	}
	return err
}

// arrived makes deliveries of what came.
func (s *session) arrived(from flow, list []*pubsubpb.ReceivedMessage, streamed bool) {
	if len(list) == 0 {
		return
	}
	all := make([]*delivery, len(list))
	for i, r := range list {
		all[i] = newDelivery(s, r, from)
		all[i].streamed = streamed
	}
	s.arrive(all)
}
