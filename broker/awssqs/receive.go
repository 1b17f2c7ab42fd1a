package awssqs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
)

// receive asks for messages for as long as the session lasts, one receive at a
// time, for what is free. SQS gives up to ten for the price of one.
func (s *session) receive() {
	conf := s.broker.conf
	for {
		n, err := s.next()
		if err != nil {
			return
		}
		a := asked{url: s.source.url, most: n, hidden: conf.Lease, wait: conf.Wait}
		if s.source.fifo {
			a.attempt = rand.Text()
		}
		// To its end, also when the session ends: one that is cut off may have
		// taken messages, which nobody could give back.
		list, err := s.client.receive(context.Background(), a)
		s.arrive(list)
		if err != nil {
			s.end(s.whyEnded(err))
			return
		}
	}
}

// next waits until something may be asked for.
func (s *session) next() (n int, err error) {
	err = s.await(s.ctx, func() bool {
		if s.err != nil {
			return false
		}
		n = s.wanted()
		s.asking = n
		return n > 0
	})
	return n, err
}

// whyEnded says of a queue that is gone that nothing is consumed. A receive
// that is under way when its queue is deleted may get no answer at all, so
// that without one the queue is asked for.
func (s *session) whyEnded(err error) error {
	if errors.Is(err, broker.ErrUnreachable) {
		if _, asked := s.client.attributes(s.ctx, s.source.url); errors.Is(asked, broker.ErrMissing) {
			err = asked
		}
	}
	if errors.Is(err, broker.ErrMissing) {
		return fmt.Errorf("%w: %w", broker.ErrDetached, err)
	}
	return err
}

// arrive takes in what a receive brought, and counts it. What comes too late
// goes back.
func (s *session) arrive(list []types.Message) {
	now := time.Now()
	var late []*delivery
	s.mu.Lock()
	s.asking, s.filling = 0, len(list) > 0
	for _, raw := range list {
		d := newDelivery(s, open(raw, s.broker.conf.KeepEnvelopes), now)
		if s.err != nil {
			d.state = stateSettled
			late = append(late, d)
			continue
		}
		s.order++
		s.sent++
		d.round, d.order = s.round, s.order
		s.open[d] = struct{}{}
		s.buffer = append(s.buffer, d)
	}
	s.wake()
	s.mu.Unlock()
	s.giveBack(late)
}
