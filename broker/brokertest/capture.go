package brokertest

import (
	"context"
	"maps"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// captureCases prove what becomes of captures that the queue's own consumers
// did not write.
func captureCases() []testCase {
	cases := []testCase{
		{name: "a_valid_one_counts", run: captureCounts},
		{name: "more_attempts_than_the_policy_allows_park", run: tooManyAttempts},
		{name: "more_laps_than_the_policy_allows_park", run: tooManyLaps},
		{name: "more_crashes_than_the_policy_allows_park_unrun", run: tooManyCrashes},
		{name: "an_id_of_digits_is_one", run: digitsAreAnID},
		{name: "counts_at_the_end_of_their_range_do_not_overflow", run: largestCounts},
	}
	for _, f := range forgeries {
		cases = append(cases, testCase{name: f.name + "_is_ignored", run: f.ignored, hook: f.hook})
	}
	return cases
}

// forgery is a capture that must not be believed.
type forgery struct {
	name   string
	change map[string]any
	hook   hook
}

var forgeries = []forgery{
	{name: "another_version", change: map[string]any{broker.HeaderVersion: int64(99)}},
	{name: "a_version_that_is_no_number", change: map[string]any{broker.HeaderVersion: "one"}},
	{name: "another_queue", change: map[string]any{broker.HeaderQueue: "somebody-elses"}},
	{name: "no_id", change: map[string]any{broker.HeaderID: ""}},
	{name: "a_negative_attempt", change: map[string]any{broker.HeaderAttempt: int64(-1)}},
	{name: "attempt_zero", change: map[string]any{broker.HeaderAttempt: int64(0)}},
	{name: "a_huge_attempt", change: map[string]any{broker.HeaderAttempt: int64(1) << 40}},
	{name: "an_attempt_that_is_no_number", change: map[string]any{broker.HeaderAttempt: "many"}},
	{name: "a_negative_lap", change: map[string]any{broker.HeaderLap: int64(-3)}},
	{name: "negative_crashes", change: map[string]any{broker.HeaderCrashes: int64(-3)}},
	{name: "a_huge_crash_count", change: map[string]any{broker.HeaderCrashes: "99999999999999999999"}},
	{name: "an_unknown_reason", change: map[string]any{broker.HeaderReason: "because"}},
	{name: "a_time_that_is_none", change: map[string]any{broker.HeaderFirstFailedAt: "yesterday"}},
	{name: "an_id_that_is_a_number", change: map[string]any{broker.HeaderID: int64(7)}, hook: typedHeaders},
}

// captured is a message that carries c as headers.
func captured(c *broker.Capture, change map[string]any) *broker.Message {
	headers := map[string]any{"own": "kept"}
	c.Each(func(name string, value any) { headers[name] = value })
	maps.Copy(headers, change)
	return &broker.Message{Body: []byte("a"), Headers: headers}
}

// ignored publishes a capture that says it is the third attempt and the second
// lap, but for the one field that spoils it.
func (f forgery) ignored(s *scene) {
	forged := newCapture(s.queue, 3)
	forged.Lap, forged.Crashes, forged.Reason, forged.Token = 2, 1, broker.ReasonOversize, "forged"
	s.env.Publish(s.T, s.queue, captured(forged, f.change))
	r := s.start(s.b, park)
	parked := s.one()
	m := r.seen()[0].m
	if m.Attempt != 1 || m.Lap != 0 || m.Origin.Queue != s.queue {
		s.Errorf("attempt %d, lap %d, origin %+v", m.Attempt, m.Lap, m.Origin)
	}
	s.wantReason(parked, broker.ReasonVerdict)
	c := parked.Capture
	if c.ID == forged.ID || c.Attempt != 1 || c.Lap != 0 || c.Crashes != 0 || c.Token == "forged" {
		s.Errorf("the forgery left its mark: %+v", *c)
	}
	if parked.Message.Headers["own"] != "kept" {
		s.Error("a header of the message's own was lost")
	}
	if len(r.told(holdfast.EventBadCapture)) != 1 {
		s.Error("no event tells of it")
	}
	r.stop()
	s.endsUnwaited(1)
}

func captureCounts(s *scene) {
	c := newCapture(s.queue, 3)
	c.Lap, c.Origin.Exchange, c.Origin.Key = 2, "somewhere", "first.key"
	s.env.Publish(s.T, s.queue, captured(c, nil))
	r := s.start(s.b, park)
	parked := s.one()
	m := r.seen()[0].m
	if m.Attempt != 3 || m.Lap != 2 || m.Origin != c.Origin {
		s.Errorf("attempt %d, lap %d, origin %+v", m.Attempt, m.Lap, m.Origin)
	}
	s.wantReason(parked, broker.ReasonVerdict)
	if got := parked.Capture; got.ID != c.ID || !got.FirstFailedAt.Equal(c.FirstFailedAt) || got.Attempt != 3 || got.Lap != 2 {
		s.Errorf("parked with %+v after %+v", *got, *c)
	}
	r.stop()
	s.endsUnwaited(1)
}

// digitsAreAnID: an id is text also when it looks like a number, so that a
// driver must not make one of it.
func digitsAreAnID(s *scene) {
	c := newCapture(s.queue, 1)
	c.ID = "0007"
	if got := s.parksWith(c, holdfast.Park(errFail), broker.ReasonVerdict, 1); got.ID != c.ID {
		s.Errorf("the id %q became %q", c.ID, got.ID)
	}
}

// parksWith publishes c and proves that it parks for the reason after calls of
// a handler that fails with err.
func (s *scene) parksWith(c *broker.Capture, err error, reason broker.Reason, calls int) *broker.Capture {
	s.Helper()
	s.env.Publish(s.T, s.queue, captured(c, nil))
	r := s.start(s.b, func(context.Context, *holdfast.Message) error { return err })
	parked := s.one()
	s.wantReason(parked, reason)
	if n := len(r.seen()); n != calls {
		s.Errorf("the handler was called %d times, not %d", n, calls)
	}
	r.stop()
	s.endsUnwaited(1)
	return parked.Capture
}

func tooManyAttempts(s *scene) {
	s.parksWith(newCapture(s.queue, 1000), errFail, broker.ReasonExhausted, 1)
}

func tooManyLaps(s *scene) {
	c := newCapture(s.queue, 1)
	c.Lap = 1000
	s.parksWith(c, holdfast.Hold(errFail), broker.ReasonLapsExhausted, 1)
}

func tooManyCrashes(s *scene) {
	c := newCapture(s.queue, 1)
	c.Crashes = 1000
	s.parksWith(c, errFail, broker.ReasonCrashLoop, 0)
}

func largestCounts(s *scene) {
	const most = 1<<31 - 1
	c := newCapture(s.queue, most)
	c.Lap = most
	if got := s.parksWith(c, errFail, broker.ReasonExhausted, 1); got.Attempt != most || got.Lap != most {
		s.Errorf("parked at attempt %d, lap %d", got.Attempt, got.Lap)
	}
}
