package brokertest

import (
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

var retryCases = []testCase{
	{name: "a_first_delivery_is_attempt_1", run: firstDelivery},
	{name: "goes_through_every_rung_in_order", run: everyRung, needs: all(delays)},
	{name: "a_spent_ladder_parks", run: spentLadder, needs: all(delays)},
	{name: "an_empty_ladder_means_one_attempt", run: emptyLadder},
	{name: "the_same_rung_twice_counts_twice", run: sameRungTwice, needs: all(delays)},
	{name: "a_later_attempt_may_succeed", run: laterAttempt, needs: all(delays)},
	{name: "retry_after_is_never_sooner", run: retryAfter, needs: all(delays)},
	{name: "retry_after_beyond_the_longest_rung_spends_one_attempt", run: retryAfterLong, needs: all(delays)},
	{name: "tries_stay_inside_the_attempt", run: triesInside},
	{name: "parks_at_once_where_nothing_can_delay", run: noDelay, lacks: all(delays)},
	{name: "headers_that_leave_no_room_park_as_oversize", run: oversize, needs: all(delays, headerLimit)},
}

func firstDelivery(s *scene) {
	s.publish("a")
	r := s.start(s.b, ok)
	m := r.await(1)[0].m
	if m.Attempt != 1 || m.Try != 1 || m.Lap != 0 || m.Redelivered {
		s.Errorf("attempt %d, try %d, lap %d, redelivered %v", m.Attempt, m.Try, m.Lap, m.Redelivered)
	}
	r.awaitTold(holdfast.EventDone, 1)
	if books := r.stop(); books.Done != 1 || books.Received != 1 {
		s.Errorf("books %+v", books)
	}
	s.ends(0)
}

func everyRung(s *scene) {
	s.publish("a")
	r := s.start(s.b, fail)
	calls := r.await(len(ladder) + 1)
	for i, rung := range ladder {
		if calls[i+1].m.Attempt != i+2 {
			s.Errorf("call %d is attempt %d", i+2, calls[i+1].m.Attempt)
		}
		s.wantGap(calls[i], calls[i+1], rung)
	}
	s.awaitParked(1)
	r.stop()
	s.ends(1)
}

// wantGap checks that b came after wait, and not much after.
func (s *scene) wantGap(a, b seen, wait time.Duration) {
	s.Helper()
	gap := b.at.Sub(a.at)
	if gap < wait-early || gap > wait+s.env.scaled(late) {
		s.Errorf("attempt %d came after %v, not after %v", b.m.Attempt, gap, wait)
	}
}

func spentLadder(s *scene) {
	s.publish("a")
	r := s.start(s.b, fail)
	m := s.one()
	s.wantReason(m, broker.ReasonExhausted)
	if m.Capture.Attempt != len(ladder)+1 || m.Capture.Error != errFail.Error() {
		s.Errorf("parked after attempt %d with %q", m.Capture.Attempt, m.Capture.Error)
	}
	if !s.env.Capabilities.Attempts && !m.Capture.FirstFailedAt.Before(m.Capture.FailedAt) {
		s.Errorf("first failed at %v, last at %v", m.Capture.FirstFailedAt, m.Capture.FailedAt)
	}
	if n := len(r.seen()); n != len(ladder)+1 {
		s.Errorf("the handler was called %d times", n)
	}
	books := r.stop()
	if books.Delayed != int64(len(ladder)) || books.Parked != 1 {
		s.Errorf("books %+v", books)
	}
	s.ends(1)
}

func emptyLadder(s *scene) {
	s.publish("a")
	r := s.start(s.b, fail, func(c *holdfast.ConsumerConfig) { c.Policy.Ladder = []time.Duration{} })
	m := s.one()
	s.wantReason(m, broker.ReasonExhausted)
	if n := len(r.seen()); n != 1 || m.Capture.Attempt != 1 {
		s.Errorf("the handler was called %d times, and it parked after attempt %d", n, m.Capture.Attempt)
	}
	r.stop()
	s.ends(1)
}

func sameRungTwice(s *scene) {
	s.publish("a")
	rung := ladder[0]
	r := s.start(s.b, fail, func(c *holdfast.ConsumerConfig) { c.Policy.Ladder = []time.Duration{rung, rung} })
	m := s.one()
	calls := r.seen()
	if len(calls) != 3 || m.Capture.Attempt != 3 {
		s.Fatalf("the handler was called %d times, and it parked after attempt %d", len(calls), m.Capture.Attempt)
	}
	s.wantGap(calls[0], calls[1], rung)
	s.wantGap(calls[1], calls[2], rung)
	r.stop()
	s.ends(1)
}

func laterAttempt(s *scene) {
	s.publish("a")
	r := s.start(s.b, failing(2, errFail))
	r.awaitTold(holdfast.EventDone, 1)
	if calls := r.seen(); len(calls) != 3 || calls[2].m.Attempt != 3 {
		s.Errorf("%d calls", len(calls))
	}
	if books := r.stop(); books.Done != 1 || books.Delayed != 2 || books.Received != 3 {
		s.Errorf("books %+v", books)
	}
	s.ends(0)
}

func retryAfter(s *scene) {
	wait := ladder[1] + 50*time.Millisecond // the third rung is the first that is long enough
	s.publish("a")
	r := s.start(s.b, failing(1, holdfast.RetryAfter(errFail, wait)))
	calls := r.await(2)
	s.wantGap(calls[0], calls[1], wait)
	if calls[1].m.Attempt != 2 {
		s.Errorf("attempt %d", calls[1].m.Attempt)
	}
	r.awaitTold(holdfast.EventDone, 1)
	r.stop()
	s.ends(0)
}

func retryAfterLong(s *scene) {
	wait := 2*ladder[2] + 50*time.Millisecond
	s.publish("a")
	r := s.start(s.b, failing(1, holdfast.RetryAfter(errFail, wait)))
	calls := r.await(2)
	s.wantGap(calls[0], calls[1], wait)
	if calls[1].m.Attempt != 2 {
		s.Errorf("attempt %d: the rounds were charged", calls[1].m.Attempt)
	}
	r.awaitTold(holdfast.EventDone, 1)
	r.stop()
	s.ends(0)
}

func triesInside(s *scene) {
	s.publish("a")
	r := s.start(s.b, failing(1, errFail), func(c *holdfast.ConsumerConfig) { c.Policy.Tries = 2 })
	calls := r.await(2)
	if calls[1].m.Try != 2 || calls[1].m.Attempt != 1 {
		s.Errorf("try %d of attempt %d", calls[1].m.Try, calls[1].m.Attempt)
	}
	r.awaitTold(holdfast.EventDone, 1)
	if books := r.stop(); books.Received != 1 || books.Done != 1 {
		s.Errorf("books %+v", books)
	}
	s.ends(0)
}

func noDelay(s *scene) {
	s.publish("a")
	r := s.start(s.b, fail)
	s.wantReason(s.one(), broker.ReasonExhausted)
	if n := len(r.seen()); n != 1 {
		s.Errorf("the handler was called %d times", n)
	}
	r.stop()
	s.ends(1)
}

func oversize(s *scene) {
	big := make([]byte, s.env.Capabilities.MaxHeaders+1)
	for i := range big {
		big[i] = 'x'
	}
	s.env.Publish(s.T, s.queue, &broker.Message{
		Body: []byte("a"), Headers: map[string]any{"big": string(big)},
	})
	r := s.start(s.b, fail)
	m := s.one()
	s.wantReason(m, broker.ReasonOversize)
	if m.Message.Headers["big"] != string(big) {
		s.Error("its headers did not stay as they were")
	}
	r.stop()
	s.ends(1)
}
