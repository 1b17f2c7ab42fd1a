package brokertest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

func (s *scene) sifter() broker.Sifter {
	s.Helper()
	if s.env.Sifter != nil {
		return s.env.Sifter
	}
	sifter, ok := s.suite.eye.(broker.Sifter)
	if !ok {
		s.Fatalf("brokertest: %T is no Sifter and Env.Sifter is not given", s.suite.eye)
	}
	return sifter
}

// waiting counts the messages that wait in a queue. In one that is not made
// yet there are none.
func (s *scene) waiting(queue string) int {
	s.Helper()
	depth, err := s.sifter().Depth(s.ctx(), queue)
	if errors.Is(err, broker.ErrMissing) {
		return 0
	}
	s.must(err)
	return depth.Messages
}

// stored reads a queue that nobody consumes and leaves it as it is. What the
// look took may be back a moment after the look: some brokers give back and do
// not say when.
func (s *scene) stored(queue string) []*broker.Stored {
	s.Helper()
	var list []*broker.Stored
	_, err := s.sifter().Sift(s.ctx(), queue, broker.SiftOptions{}, func(_ context.Context, m *broker.Stored) (broker.Action, error) {
		list = append(list, m)
		return broker.Action{}, nil
	})
	s.must(err)
	s.eventually("what a look took is back", func() bool { return s.waiting(queue) >= len(list) })
	return list
}

// awaitParked waits until n messages are parked and returns them.
func (s *scene) awaitParked(n int) []*broker.Stored {
	s.Helper()
	parked := s.env.Parked(s.queue)
	s.eventually(fmt.Sprintf("%d parked in %s", n, parked), func() bool { return s.waiting(parked) >= n })
	list := s.stored(parked)
	if len(list) != n {
		s.Fatalf("%d messages are parked, not %d", len(list), n)
	}
	return list
}

// ends proves the exact end of a case: n messages are parked, and nothing is
// left in the source, on a rung or in a hold. Consumers have stopped before.
//
// Rungs and holds keep their order, so a marker goes through each of them:
// once it is back, everything before it is back too. Only the markers may come.
func (s *scene) ends(parked int) {
	s.Helper()
	s.eventually("nothing is left in the source", func() bool { return s.waiting(s.queue) == 0 }) // some count a moment late
	s.markers()
	s.endsUnwaited(parked)
}

// endsUnwaited is ends for a case in which nothing can be on a rung or in a
// hold. What a look at the parked queue took is given time to go back.
func (s *scene) endsUnwaited(parked int) {
	s.Helper()
	s.eventually("nothing is left in the source", func() bool { return s.waiting(s.queue) == 0 }) // some count a moment late
	s.eventually(fmt.Sprintf("%d messages are parked", parked), func() bool {
		return s.waiting(s.env.Parked(s.queue)) == parked
	})
}

func (s *scene) markers() {
	s.Helper()
	waits := s.waits()
	session := s.consume(s.open(), len(waits)+10)
	s.publish(numbered("marker", len(waits))...)
	for _, wait := range waits {
		s.mustSettle(s.marker(session), wait)
	}
	for range waits {
		s.mustSettle(s.marker(session), broker.Settlement{Fate: broker.FateDone})
	}
	s.must(session.Close(s.ctx()))
}

// waits is a settlement for every place where a message can wait.
func (s *scene) waits() []broker.Settlement {
	var all []broker.Settlement
	if s.env.Capabilities.Delay {
		for _, rung := range ladder {
			all = append(all, broker.Settlement{Fate: broker.FateDelay, Delay: rung, Capture: newCapture(s.queue, 2)})
		}
	}
	if s.env.Capabilities.Hold {
		all = append(all, broker.Settlement{Fate: broker.FateHold, Capture: newCapture(s.queue, 1)})
	}
	return all
}

// marker receives a marker and nothing else.
func (s *scene) marker(session broker.Session) broker.Delivery {
	s.Helper()
	for {
		d := s.receive(session)
		if body := string(d.Message().Body); !strings.HasPrefix(body, "marker-") {
			s.Errorf("left over: %.40q, attempt %d, lap %d", body, d.Message().Attempt, d.Message().Lap)
			s.mustSettle(d, broker.Settlement{Fate: broker.FateDiscard})
			continue
		}
		return d
	}
}
