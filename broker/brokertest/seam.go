package brokertest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// This file is how cases use the seam without the core.

func (s *scene) subscription() broker.Subscription {
	return broker.Subscription{Queue: s.queue, Rungs: ladder, Hold: holdTime, Replies: s.env.Capabilities.Replies}
}

// attach opens a session that is closed at the end.
func (s *scene) attach(b broker.Broker) broker.Session {
	s.Helper()
	session, err := b.Open(s.ctx(), s.subscription())
	if err != nil {
		s.Fatalf("open: %v", err)
	}
	s.Cleanup(func() { _ = session.Close(s.ctx()) })
	return session
}

// consume attaches and starts the flow.
func (s *scene) consume(b broker.Broker, prefetch int) broker.Session {
	s.Helper()
	session := s.attach(b)
	s.must(session.Consume(s.ctx(), prefetch))
	return session
}

func (s *scene) receive(session broker.Session) broker.Delivery {
	s.Helper()
	d, err := session.Receive(s.ctx())
	if err != nil {
		s.Fatalf("receive: %v", err)
	}
	return d
}

func (s *scene) receiveN(session broker.Session, n int) []broker.Delivery {
	s.Helper()
	list := make([]broker.Delivery, n)
	for i := range list {
		list[i] = s.receive(session)
	}
	return list
}

// inOrder sorts deliveries by their bodies where the broker hands out in any
// order; elsewhere their order is part of the promise.
func (s *scene) inOrder(list []broker.Delivery) []broker.Delivery {
	if s.env.Unordered {
		slices.SortStableFunc(list, func(a, b broker.Delivery) int {
			return bytes.Compare(a.Message().Body, b.Message().Body)
		})
	}
	return list
}

// receivesNothing proves that nothing comes for a while.
func (s *scene) receivesNothing(session broker.Session) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), quiet)
	defer cancel()
	d, err := session.Receive(ctx)
	if err == nil {
		s.Fatalf("received %.40q, and nothing was expected", d.Message().Body)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		s.Fatalf("receive: %v", err)
	}
}

// settle settles and waits for the outcome.
func (s *scene) settle(d broker.Delivery, set broker.Settlement) error {
	s.Helper()
	return s.outcome(s.handOver(d, set))
}

// handOver settles and returns where the outcome will come.
func (s *scene) handOver(d broker.Delivery, set broker.Settlement) <-chan error {
	outcome := make(chan error, 2) // room for a second call, which would be a fault
	d.Settle(set, func(err error) { outcome <- err })
	return outcome
}

func (s *scene) outcome(outcome <-chan error) error {
	s.Helper()
	select {
	case err := <-outcome:
		return err
	case <-time.After(s.env.scaled(patience)):
		s.Fatal("a settlement has no outcome")
		return nil
	}
}

func (s *scene) mustSettle(d broker.Delivery, set broker.Settlement) {
	s.Helper()
	if err := s.settle(d, set); err != nil {
		s.Fatalf("settle as %v: %v", set.Fate, err)
	}
}

func (s *scene) wants(err, class error) {
	s.Helper()
	if !errors.Is(err, class) {
		s.Fatalf("the error is %v, not %v", err, class)
	}
}
