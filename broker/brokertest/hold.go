package brokertest

import (
	"context"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

var holdCases = []testCase{
	{name: "returns_by_itself_and_counts_laps", run: holdReturns, needs: all(holds)},
	{name: "tells_that_it_returned", run: holdTells, needs: all(holds)},
	{name: "spent_laps_park", run: spentLaps, needs: all(holds)},
	{name: "keeps_the_attempt", run: holdKeepsAttempt, needs: all(holds, delays)},
	{name: "takes_over_from_a_spent_ladder_if_asked", run: exhaustedHold, needs: all(holds)},
	{name: "several_return_each_once", run: holdSeveral, needs: all(holds)},
	{name: "an_operator_ends_it_early", run: holdResume, needs: all(holds), hook: seesHolds},
	{name: "survives_the_consumer", run: holdSurvives, needs: all(holds)},
	{name: "a_source_that_cannot_hold_parks", run: cannotHold, lacks: all(holds)},
	{name: "a_transient_source_parks", run: transientParks, hook: hasTransient},
}

func hold(context.Context, *holdfast.Message) error { return holdfast.Hold(errFail) }

func holdReturns(s *scene) {
	s.publish("a")
	r := s.start(s.b, failing(2, holdfast.Hold(errFail)))
	calls := r.await(3)
	for i, c := range calls {
		if c.m.Attempt != 1 || c.m.Lap != i {
			s.Errorf("call %d is attempt %d, lap %d", i+1, c.m.Attempt, c.m.Lap)
		}
	}
	s.wantGap(calls[0], calls[1], holdTime)
	s.wantGap(calls[1], calls[2], holdTime)
	r.awaitTold(holdfast.EventDone, 1)
	if books := r.stop(); books.Held != 2 || books.Done != 1 {
		s.Errorf("books %+v", books)
	}
	s.ends(0)
}

func holdTells(s *scene) {
	s.publish("a")
	r := s.start(s.b, failing(1, holdfast.Hold(errFail)))
	held, returned := r.awaitTold(holdfast.EventHeld, 1)[0], r.awaitTold(holdfast.EventReturned, 1)[0]
	if held.CaptureID == "" || held.CaptureID != returned.CaptureID {
		s.Errorf("held %q, returned %q", held.CaptureID, returned.CaptureID)
	}
	r.awaitTold(holdfast.EventDone, 1)
	r.stop()
}

func spentLaps(s *scene) {
	s.publish("a")
	r := s.start(s.b, hold, func(c *holdfast.ConsumerConfig) { c.Policy.Laps = 2 })
	m := s.one()
	s.wantReason(m, broker.ReasonLapsExhausted)
	if n := len(r.seen()); n != 3 || m.Capture.Lap != 2 || m.Capture.Attempt != 1 {
		s.Errorf("%d calls, parked at lap %d of attempt %d", n, m.Capture.Lap, m.Capture.Attempt)
	}
	r.stop()
	s.ends(1)
}

func holdKeepsAttempt(s *scene) {
	s.publish("a")
	n := 0
	r := s.start(s.b, func(context.Context, *holdfast.Message) error {
		n++ // one handler at a time
		return []error{errFail, holdfast.Hold(errFail), nil}[n-1]
	})
	calls := r.await(3)
	if m := calls[2].m; m.Attempt != 2 || m.Lap != 1 {
		s.Errorf("attempt %d, lap %d", m.Attempt, m.Lap)
	}
	r.awaitTold(holdfast.EventDone, 1)
	r.stop()
	s.ends(0)
}

func exhaustedHold(s *scene) {
	s.publish("a")
	r := s.start(s.b, fail, func(c *holdfast.ConsumerConfig) {
		c.Policy.Ladder, c.Policy.Exhausted, c.Policy.Laps = []time.Duration{}, holdfast.ExhaustedHold, 2
	})
	m := s.one()
	if n := len(r.seen()); n != 3 || m.Capture.Lap != 2 || m.Capture.Attempt != 1 {
		s.Errorf("%d calls, parked at lap %d of attempt %d", n, m.Capture.Lap, m.Capture.Attempt)
	}
	if books := r.stop(); books.Held != 2 || books.Parked != 1 {
		s.Errorf("books %+v", books)
	}
	s.ends(1)
}

func holdSeveral(s *scene) {
	const n = 5
	s.publish(numbered("m", n)...)
	r := s.start(s.b, failing(1, holdfast.Hold(errFail)))
	r.awaitTold(holdfast.EventDone, n)
	if books := r.stop(); books.Held != n || books.Done != n || books.Received != 2*n {
		s.Errorf("books %+v", books)
	}
	s.ends(0)
}

// holdResume ends an hour's hold as holdfast resume does: a copy, with its
// capture, to the source.
func holdResume(s *scene) {
	s.publish("a", "b")
	r := s.start(s.b, failing(1, holdfast.Hold(errFail)), func(c *holdfast.ConsumerConfig) { c.Policy.Hold = time.Hour })
	r.awaitTold(holdfast.EventHeld, 2)
	s.eventually("both are resumed", func() bool {
		s.sift(s.env.Hold(s.queue), broker.SiftOptions{}, func(*broker.Stored) broker.Action {
			return broker.Action{Verb: broker.VerbCopy, Target: broker.Target{Queue: s.queue}}
		})
		return len(r.told(holdfast.EventDone)) == 2
	})
	if calls := r.seen(); len(calls) != 4 || calls[3].m.Lap != 1 || calls[3].m.Attempt != 1 {
		s.Errorf("%d calls, the last is lap %d of attempt %d", len(calls), calls[3].m.Lap, calls[3].m.Attempt)
	}
	r.stop()
	if n := s.waiting(s.env.Hold(s.queue)); n != 0 {
		s.Errorf("%d are still held", n)
	}
}

// holdSurvives stops the consumer during the hold; another one gets it back.
func holdSurvives(s *scene) {
	s.publish("a")
	first := s.start(s.b, hold)
	first.awaitTold(holdfast.EventHeld, 1)
	first.stop()
	second := s.start(s.open(), ok)
	if m := second.await(1)[0].m; m.Lap == 0 || m.Attempt > s.again(1) {
		s.Errorf("lap %d, attempt %d", m.Lap, m.Attempt)
	}
	second.awaitTold(holdfast.EventDone, 1)
	second.stop()
	s.ends(0)
}

func cannotHold(s *scene) {
	s.publish("a")
	r := s.start(s.b, hold)
	s.wantReason(s.one(), broker.ReasonNoncanonicalRoute)
	if n := len(r.seen()); n != 1 {
		s.Errorf("%d calls", n)
	}
	r.stop()
	s.ends(1)
}

func transientParks(s *scene) {
	s.queue = s.env.NewTransientQueue(s.T)
	s.publish("a")
	r := s.start(s.b, hold)
	s.wantReason(s.one(), broker.ReasonNoncanonicalRoute)
	r.stop()
}
