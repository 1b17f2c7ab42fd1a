package brokertest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// The contract is what an author may rely on with the same handler and the
// same policy on every broker. Each case is a column of docs/conformance.md, so
// it stands alone, also where another topic looks closer at the same thing.
var contractCases = []testCase{
	{name: "a_retry_comes_after_its_delay_and_not_before", run: retryTwoSided, needs: all(delays)},
	{name: "a_hold_ends_after_its_time_and_not_before", run: holdTwoSided, needs: all(holds)},
	{name: "a_release_is_redelivered", run: releaseRedelivered},
	{name: "a_release_comes_at_once", run: releaseAtOnce},
	{name: "a_released_message_does_not_block_the_next", run: releaseBlocksNobody},
	{name: "a_reject_parks_with_its_origin_and_reason", run: rejectParks},
	{name: "an_unacceptable_body_parks_as_malformed_and_not_otherwise", run: unacceptableParks},
	{name: "a_reject_without_a_reason_is_stamped_all_the_same", run: unspecifiedParks},
	{name: "a_parked_copy_carries_the_whole_record", run: wholeRecord},
	{name: "a_reject_without_a_place_to_go_keeps_the_original", run: missingParked, alone: true},
	{name: "a_parked_copy_put_back_keeps_its_stamp", run: putBack, hook: siftsItself},
	{name: "a_replayed_copy_starts_anew", run: replayedAnew, hook: siftsItself},
	{name: "a_spent_budget_parks_exactly_once", run: spentBudget, needs: all(delays)},
	{name: "a_restart_between_deliveries_changes_no_count", run: restartsBetween, needs: all(delays)},
	{name: "two_consumers_spend_one_budget", run: twoSpendOne, needs: all(delays)},
	{name: "a_foreign_count_is_not_believed", run: foreignCount},
	{name: "a_budget_below_the_native_limit_acts_first", run: budgetFirst, needs: all(delays), hook: hasLimited},
	{name: "a_native_limit_at_the_budget_is_told", run: limitTold, hook: hasLimited},
}

const (
	// wait is a delay that can be told from none.
	wait = time.Second

	// tooEarly is what counts as before it.
	tooEarly = wait * 7 / 10

	// atOnce is when a release is back that asked for no delay, at Slow 1.
	atOnce = 5 * time.Second
)

// wantTwoSided checks that the second call came after wait. That it came within
// the patience of the suite, await has checked.
func (s *scene) wantTwoSided(calls []seen) {
	s.Helper()
	if gap := calls[1].at.Sub(calls[0].at); gap < tooEarly {
		s.Errorf("it came again after %v, and was to come after %v", gap, wait)
	}
}

// retryTwoSided looks at the attempt too: a message that comes back because its
// lease has ended comes late enough, but for the wrong reason.
func retryTwoSided(s *scene) {
	s.publish("a")
	r := s.start(s.b, failing(1, errFail), func(c *holdfast.ConsumerConfig) { c.Policy.Ladder = []time.Duration{wait} })
	calls := r.await(2)
	s.wantTwoSided(calls)
	r.awaitTold(holdfast.EventDone, 1)
	if books := r.stop(); calls[1].m.Attempt != 2 || books.Delayed != 1 || books.Received != 2 {
		s.Errorf("attempt %d, books %+v", calls[1].m.Attempt, books)
	}
	s.ends(0)
}

func holdTwoSided(s *scene) {
	s.publish("a")
	r := s.start(s.b, failing(1, holdfast.Hold(errFail)), func(c *holdfast.ConsumerConfig) { c.Policy.Hold = wait })
	calls := r.await(2)
	s.wantTwoSided(calls)
	r.awaitTold(holdfast.EventDone, 1)
	if books := r.stop(); calls[1].m.Lap != 1 || calls[1].m.Attempt != 1 || books.Held != 1 || books.Received != 2 {
		s.Errorf("attempt %d, lap %d, books %+v", calls[1].m.Attempt, calls[1].m.Lap, books)
	}
	s.ends(0)
}

func releaseRedelivered(s *scene) {
	session := s.consume(s.b, 1)
	s.publish("a")
	s.mustSettle(s.receive(session), broker.Settlement{Fate: broker.FateRelease})
	d := s.receive(session)
	if m := d.Message(); string(m.Body) != "a" || m.Attempt != s.again(1) || m.Lap != 0 {
		s.Errorf("%q, attempt %d, lap %d", m.Body, m.Attempt, m.Lap)
	}
	s.mustSettle(d, done)
	s.must(session.Close(s.ctx()))
	s.endsUnwaited(0)
}

// releaseAtOnce is no measurement: the bound is what tells a release from the
// end of a lease.
func releaseAtOnce(s *scene) {
	session := s.consume(s.b, 1)
	s.publish("a")
	first := s.receive(session)
	began := time.Now()
	s.mustSettle(first, broker.Settlement{Fate: broker.FateRelease})
	d := s.receive(session)
	if took, most := time.Since(began), s.env.scaled(atOnce); took > most {
		s.Errorf("it came again after %v, and not within %v", took, most)
	}
	s.mustSettle(d, done)
	s.must(session.Close(s.ctx()))
	s.endsUnwaited(0)
}

// releaseBlocksNobody expects no order of the two: some brokers put a released
// message before the next, and some behind it.
func releaseBlocksNobody(s *scene) {
	session := s.consume(s.b, 2)
	s.publish("a", "b")
	s.mustSettle(s.receive(session), broker.Settlement{Fate: broker.FateRelease})
	came := map[string]bool{}
	for range 2 {
		d := s.receive(session)
		came[string(d.Message().Body)] = true
		s.mustSettle(d, done)
	}
	if !came["a"] || !came["b"] {
		s.Errorf("only %v came", came)
	}
	s.must(session.Close(s.ctx()))
	s.endsUnwaited(0)
}

// published publishes m as a producer would, and returns its origin. Where the
// broker knows only queues, what it calls a key is its own affair.
func (s *scene) published(m *broker.Message) broker.Origin {
	s.Helper()
	if s.env.PublishVia != nil {
		return s.publishVia(m)
	}
	s.env.Publish(s.T, s.queue, m)
	return broker.Origin{Queue: s.queue}
}

func rejectParks(s *scene) {
	want := s.published(&broker.Message{Body: []byte("a"), ID: newID("a")})
	r := s.start(s.b, park)
	m := s.one()
	s.wantReason(m, broker.ReasonVerdict)
	got := m.Capture.Origin
	if s.env.PublishVia == nil {
		got = broker.Origin{Queue: got.Queue}
	}
	if got != want || m.Capture.Error != errFail.Error() {
		s.Errorf("parked from %+v with %q, not from %+v with %q", got, m.Capture.Error, want, errFail)
	}
	if books := r.stop(); len(r.seen()) != 1 || books.Parked != 1 {
		s.Errorf("%d calls, books %+v", len(r.seen()), books)
	}
	s.endsUnwaited(1)
}

// unacceptableParks parks one that cannot be decoded and one that can.
func unacceptableParks(s *scene) {
	s.publish("{broken", "{}")
	h := holdfast.JSON(func(context.Context, map[string]int, *holdfast.Message) error { return holdfast.Park(errFail) })
	r := s.start(s.b, h)
	for _, m := range s.awaitParked(2) {
		want := broker.ReasonVerdict
		if !json.Valid(m.Message.Body) {
			want = broker.ReasonMalformed
		}
		s.wantReason(m, want)
	}
	r.stop()
	s.endsUnwaited(2)
}

func unspecifiedParks(s *scene) {
	s.publish("a")
	r := s.start(s.b, returning(holdfast.Park(nil)))
	s.wantReason(s.one(), broker.ReasonVerdict)
	r.stop()
	s.endsUnwaited(1)
}

// wholeRecord: the record is there, and it does not say that the broker moved
// the message.
func wholeRecord(s *scene) {
	long := fmt.Errorf("%s: %w", strings.Repeat("long ", 1000), errFail)
	s.env.Publish(s.T, s.queue, &broker.Message{Body: []byte("a"), ID: "token-1"})
	before := time.Now().Add(-time.Second)
	r := s.start(s.b, returning(holdfast.Park(long)))
	m := s.one()
	s.wantReason(m, broker.ReasonVerdict)
	c := m.Capture
	if !strings.HasPrefix(long.Error(), c.Error) || c.ErrorSHA256 == "" || c.Cause != errFail.Error() {
		s.Errorf("error %.40q, its hash %q, cause %q", c.Error, c.ErrorSHA256, c.Cause)
	}
	if c.Attempt != 1 || c.Lap != 0 || c.Crashes != 0 || c.Host == "" || c.Token != "token-1" {
		s.Errorf("attempt %d, lap %d, crashes %d, host %q, token %q", c.Attempt, c.Lap, c.Crashes, c.Host, c.Token)
	}
	for _, at := range []time.Time{c.FirstFailedAt, c.FailedAt} {
		if at.Before(before) || at.After(time.Now().Add(time.Second)) {
			s.Errorf("it says that it failed at %v", at)
		}
	}
	s.wantTimes(m.Message.Headers)
	if m.DeadLettered != "" {
		s.Errorf("it says that the broker dead-lettered it: %q", m.DeadLettered)
	}
	r.stop()
	s.endsUnwaited(1)
}

// wantTimes checks the form of the times where each field is a header of its
// own. Where a driver packs them, reading the capture has checked it.
func (s *scene) wantTimes(headers map[string]any) {
	s.Helper()
	for _, name := range []string{broker.HeaderFirstFailedAt, broker.HeaderFailedAt} {
		text, ok := headers[name].(string)
		if !ok {
			continue
		}
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			s.Errorf("%s: %v", name, err)
		}
	}
}
