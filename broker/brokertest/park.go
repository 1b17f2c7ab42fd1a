package brokertest

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// Those that delete a parked queue run alone: several sources may park there.
var parkCases = []testCase{
	{name: "parks_at_once", run: parksAtOnce},
	{name: "parks_on_a_later_attempt", run: parksLater, needs: all(delays)},
	{name: "discard_leaves_no_copy", run: discardLeavesNothing},
	{name: "many_at_once_park_each_once", run: parksMany},
	{name: "a_missing_parked_queue_keeps_the_original", run: missingParked, alone: true},
	{name: "a_parked_queue_deleted_under_way_loses_nothing", run: parkedDeleted, alone: true},
	{name: "a_parked_message_stays", run: parkedStays},
}

func park(context.Context, *holdfast.Message) error { return holdfast.Park(errFail) }

func discard(context.Context, *holdfast.Message) error { return holdfast.Discard(errFail) }

func parksAtOnce(s *scene) {
	s.publish("a")
	r := s.start(s.b, park)
	m := s.one()
	s.wantReason(m, broker.ReasonVerdict)
	if n := len(r.seen()); n != 1 || m.Capture.Attempt != 1 || m.Capture.Error != errFail.Error() {
		s.Errorf("%d calls, parked after attempt %d with %q", n, m.Capture.Attempt, m.Capture.Error)
	}
	if books := r.stop(); books.Parked != 1 || books.Delayed != 0 {
		s.Errorf("books %+v", books)
	}
	s.ends(1)
}

func parksLater(s *scene) {
	s.publish("a")
	r := s.start(s.b, func(_ context.Context, m *holdfast.Message) error {
		if m.Attempt == 1 {
			return errFail
		}
		return holdfast.Park(fmt.Errorf("never: %w", errFail))
	})
	m := s.one()
	s.wantReason(m, broker.ReasonVerdict)
	if m.Capture.Attempt != 2 || m.Capture.Error != "never: "+errFail.Error() || m.Capture.Cause != errFail.Error() {
		s.Errorf("capture %+v", *m.Capture)
	}
	if books := r.stop(); books.Delayed != 1 {
		s.Errorf("books %+v", books)
	}
	s.ends(1)
}

func discardLeavesNothing(s *scene) {
	s.publish("a")
	r := s.start(s.b, discard)
	r.awaitTold(holdfast.EventDiscarded, 1)
	if books := r.stop(); books.Discarded != 1 || books.Received != 1 {
		s.Errorf("books %+v", books)
	}
	s.ends(0)
}

func parksMany(s *scene) {
	const n = 300
	s.publish(numbered("m", n)...)
	r := s.start(s.b, park, func(c *holdfast.ConsumerConfig) { c.Concurrency = 8 })
	r.awaitBooks("all are parked", func(b holdfast.Books) bool { return b.Parked == n })
	r.stop()
	bodies := map[string]int{}
	for _, m := range s.awaitParked(n) {
		bodies[string(m.Message.Body)]++
	}
	if len(bodies) != n {
		s.Errorf("%d different messages are parked", len(bodies))
	}
	s.ends(n)
}

// missingParked is the seam's word on it: the outcome is ErrUnrouted, the
// delivery is still open, and a new session makes the missing place again.
func missingParked(s *scene) {
	session := s.consume(s.b, 1)
	s.publish("a")
	d := s.receive(session)
	s.env.DeleteQueue(s.T, s.env.Parked(s.queue))
	parked := broker.Settlement{Fate: broker.FatePark, Capture: newCapture(s.queue, 1)}
	parked.Capture.Reason = broker.ReasonVerdict
	s.wants(s.settle(d, parked), broker.ErrUnrouted)
	s.wants(s.settle(d, parked), broker.ErrUnrouted)
	other := s.attach(s.open())
	s.must(other.Close(s.ctx()))
	s.mustSettle(d, parked)
	s.awaitParked(1)
	s.must(session.Close(s.ctx()))
	s.ends(1)
}

func parkedDeleted(s *scene) {
	const n = 10
	r := s.start(s.b, park, func(c *holdfast.ConsumerConfig) { c.Concurrency = 4 })
	r.awaitState(holdfast.StateAttached)
	s.env.DeleteQueue(s.T, s.env.Parked(s.queue))
	s.publish(numbered("m", n)...)
	r.awaitTold(holdfast.EventUnsettled, 1)
	r.awaitBooks("all are parked after all", func(b holdfast.Books) bool { return b.Parked == n })
	r.stop()
	s.awaitParked(n)
	s.ends(n)
}

func parkedStays(s *scene) {
	s.publish("a")
	r := s.start(s.b, park)
	first := s.one()
	s.never("a second call of the handler", func() bool { return len(r.seen()) > 1 })
	r.stop()
	again := s.one()
	if first.Capture.ID != again.Capture.ID || !first.Capture.FailedAt.Equal(again.Capture.FailedAt.Truncate(time.Nanosecond)) {
		s.Errorf("the capture changed from %+v to %+v", *first.Capture, *again.Capture)
	}
}
