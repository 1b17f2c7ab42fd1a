package brokertest

import (
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// This file is the part of the contract that counts. Calls of the handler are
// counted by the id that the producer gave the message: a broker's own id is
// another one for each copy.

const (
	// budget is how many attempts the policy of these cases allows.
	budget = 3

	// nativeLimit is after how many deliveries the broker of a limited queue
	// takes a message away: more than the budget, so that the budget is tested.
	nativeLimit = 5
)

func budgeted(c *holdfast.ConsumerConfig) {
	c.Policy.Ladder = []time.Duration{ladder[0], ladder[0]}
	c.Policy.Crashes = budget
}

// wantBudget checks, after the consumers have stopped, that each of n messages
// is parked once and was run as often as the budget allows. A count that is
// only approximate may have spent it early, and never late.
func (s *scene) wantBudget(n int, consumers ...*running) {
	s.Helper()
	runs := map[string]int{}
	for _, r := range consumers {
		for _, c := range r.seen() {
			runs[c.m.ID]++
		}
	}
	parked := map[string]bool{}
	for _, m := range s.awaitParked(n) {
		s.wantReason(m, broker.ReasonExhausted)
		id, attempt := m.Message.ID, m.Capture.Attempt
		ran := runs[id]
		kept := ran == budget && attempt == budget
		if s.approximate() {
			kept = ran >= 1 && ran <= budget && attempt >= budget
		}
		if parked[id] || !kept {
			s.Errorf("%s ran %d times and is parked at attempt %d (parked before: %v), with a budget of %d",
				id, ran, attempt, parked[id], budget)
		}
		parked[id] = true
	}
}

// approximate reports whether attempts are a count of the broker's that may be
// too high. A stamp is exact.
func (s *scene) approximate() bool {
	return s.env.Capabilities.Attempts && !s.env.Capabilities.Exact
}

func spentBudget(s *scene) { s.spends(5) }

// spends lets n messages fail until they are parked.
func (s *scene) spends(n int) *running {
	s.Helper()
	s.publish(numbered("m", n)...)
	r := s.start(s.b, fail, budgeted)
	r.awaitBooks("all are parked", func(b holdfast.Books) bool { return b.Parked >= int64(n) })
	r.stop()
	s.wantBudget(n, r)
	s.ends(n)
	return r
}

// restartsBetween has a client and a consumer of its own for each attempt. The
// rungs are long enough that the next attempt does not come to one that stops,
// where it would be no attempt, or spend one.
func restartsBetween(s *scene) {
	s.publish("a")
	var all []*running
	for len(all) < budget {
		r := s.start(s.open(), fail, budgeted, func(c *holdfast.ConsumerConfig) { c.Policy.Ladder = []time.Duration{wait, wait} })
		all = append(all, r)
		r.awaitBooks("an attempt is over", func(b holdfast.Books) bool { return b.Delayed+b.Parked > 0 })
		if r.stop().Parked > 0 {
			break
		}
	}
	s.wantBudget(1, all...)
	s.ends(1)
}

func twoSpendOne(s *scene) {
	const n = 10
	wide := func(c *holdfast.ConsumerConfig) { c.Prefetch, c.Concurrency = n, 4 }
	first, second := s.start(s.b, fail, budgeted, wide), s.start(s.open(), fail, budgeted, wide)
	first.awaitState(holdfast.StateAttached)
	second.awaitState(holdfast.StateAttached)
	s.publish(numbered("m", n)...)
	s.eventually("all are parked", func() bool { return first.Books().Parked+second.Books().Parked >= n })
	first.stop()
	second.stop()
	s.wantBudget(n, first, second)
	s.ends(n)
}

// foreignCount: a count without a stamp is a header like any other, ours under
// our own name included. The broker's own names are each driver's to test.
func foreignCount(s *scene) {
	s.env.Publish(s.T, s.queue, &broker.Message{Body: []byte("a"), ID: newID("a"), Headers: map[string]any{
		broker.HeaderAttempt: int64(budget), broker.HeaderCrashes: int64(budget), "HandledCount": strconv.Itoa(budget),
	}})
	r := s.start(s.b, park, budgeted)
	m := s.one()
	s.wantReason(m, broker.ReasonVerdict)
	if calls := r.seen(); len(calls) != 1 || calls[0].m.Attempt != 1 || m.Capture.Attempt != 1 || m.Capture.Crashes != 0 {
		s.Errorf("%d calls, parked at attempt %d with %d crashes", len(calls), m.Capture.Attempt, m.Capture.Crashes)
	}
	r.stop()
	s.endsUnwaited(1)
}

// putBack: whoever moves a parked copy home by hand, record and all, gets it
// back at once, and never a silent loop.
func putBack(s *scene) {
	session := s.consume(s.b, 1)
	s.publish("a")
	stamped := s.parking()
	stamped.Capture.Attempt = budget
	s.mustSettle(s.receive(session), stamped)
	s.must(session.Close(s.ctx()))
	s.moveParked(func(m *broker.Stored) broker.Action {
		return broker.Action{Verb: broker.VerbCopy, Target: broker.Target{Queue: s.queue}}
	})
	r := s.start(s.b, fail, budgeted)
	m := s.one()
	s.wantReason(m, broker.ReasonExhausted)
	if calls := r.seen(); len(calls) != 1 || calls[0].m.Attempt != budget || m.Capture.ID != stamped.Capture.ID {
		s.Errorf("%d calls, and the capture is %+v", len(calls), *m.Capture)
	}
	r.stop()
	s.endsUnwaited(1)
}

func replayedAnew(s *scene) {
	s.publish("a")
	r := s.start(s.b, park)
	r.awaitBooks("it is parked", func(b holdfast.Books) bool { return b.Parked == 1 })
	r.stop()
	s.moveParked(s.copyTo(s.queue))
	second := s.start(s.open(), ok)
	m := second.await(1)[0].m
	if m.Attempt != 1 || m.Lap != 0 || m.Redelivered {
		s.Errorf("attempt %d, lap %d, redelivered %v", m.Attempt, m.Lap, m.Redelivered)
	}
	for name := range m.Headers {
		if broker.CaptureField(name) {
			s.Errorf("%s was not stripped", name)
		}
	}
	second.awaitTold(holdfast.EventDone, 1)
	second.stop()
	s.endsUnwaited(0)
}

// moveParked does the same to the one message that is parked.
func (s *scene) moveParked(pick func(*broker.Stored) broker.Action) {
	s.Helper()
	s.awaitParked(1)
	s.wantSifted(s.sift(s.env.Parked(s.queue), broker.SiftOptions{}, pick), broker.Sifted{Seen: 1, Copied: 1})
}

func budgetFirst(s *scene) {
	s.queue = s.env.NewLimitedQueue(s.T, nativeLimit)
	r := s.spends(3)
	if told := r.nativeFirst(); len(told) != 0 {
		s.Errorf("a budget of %d beside a limit of %d is doubted: %q", budget, nativeLimit, told)
	}
}

// limitTold has a budget that the broker's own limit would cut short. A driver
// that declares no limit for such a queue keeps it from acting, or cannot, and
// then warns of it in words of its own.
func limitTold(s *scene) {
	s.queue = s.env.NewLimitedQueue(s.T, nativeLimit)
	session := s.attach(s.b)
	limit := session.Capabilities().NativeLimit
	s.must(session.Close(s.ctx()))
	r := s.start(s.b, ok, func(c *holdfast.ConsumerConfig) {
		c.Policy.Ladder = make([]time.Duration, nativeLimit-1)
		for i := range c.Policy.Ladder {
			c.Policy.Ladder[i] = ladder[0]
		}
		c.Policy.Crashes = nativeLimit
	})
	r.awaitTold(holdfast.EventAttached, 1)
	r.awaitTold(holdfast.EventWarning, 1)
	s.env.Cut(s.T, s.b)
	r.awaitTold(holdfast.EventAttached, 2)
	r.stop()
	switch told := r.nativeFirst(); {
	case limit == 0 && len(told) == 0:
		if first := r.told(holdfast.EventWarning)[0].Text; !strings.Contains(first, strconv.Itoa(nativeLimit)) {
			s.Errorf("the limit of %d is not declared, and the warning does not name it: %q", nativeLimit, first)
		}
	case limit != nativeLimit || len(told) != 1 || !strings.Contains(told[0], strconv.Itoa(nativeLimit)):
		s.Errorf("a limit of %d is declared as %d, and told as %q", nativeLimit, limit, told)
	}
}

// nativeFirst is what was told of [holdfast.FindingNativeFirst]. It is known by
// what it names: an event has no kind for each finding.
func (r *running) nativeFirst() (told []string) {
	for _, e := range r.told(holdfast.EventWarning) {
		if strings.Contains(e.Text, "effective limit") {
			told = append(told, e.Text)
		}
	}
	return told
}
