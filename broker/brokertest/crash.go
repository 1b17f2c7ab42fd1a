package brokertest

import (
	"context"
	"strings"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

var crashCases = []testCase{
	{name: "a_lost_session_is_counted", run: lostSessionCounts, needs: all(counts)},
	{name: "a_lost_session_is_known_by_the_redelivery", run: lostSessionUnstamped, lacks: all(counts, attempts, uncounted)},
	{name: "a_lost_session_spends_an_attempt_that_the_broker_counts", run: lostSessionSpends, needs: all(attempts)},
	{name: "a_close_charges_nothing", run: closeChargesNothing, needs: all(counts, freeRelease)},
	{name: "what_was_prefetched_is_charged_at_most_once", run: prefetchedChargedOnce},
	{name: "a_message_that_kills_is_parked_and_its_neighbours_are_done", run: killer, lacks: all(uncounted)},
	{name: "a_poison_message_stops_nobody_else", run: poison},
	{name: "a_handler_that_returned_is_charged_no_crash", run: handledIsUncharged, needs: all(delays), lacks: all(attempts, uncounted)},
}

// lose receives what prefetch allows and loses the connection.
func (s *scene) lose(n int) {
	s.Helper()
	b := s.open()
	session := s.consume(b, n)
	s.receiveN(session, n)
	s.env.Cut(s.T, b)
	s.within("the end of the session", session.Done())
}

func lostSessionCounts(s *scene) {
	s.publish("a")
	for lost := range 3 {
		session := s.consume(s.open(), 1)
		d := s.receive(session)
		if f := d.Facts(); f.Crashes != lost || f.Unstamped || f.Redelivered != (lost > 0) {
			s.Errorf("after %d lost sessions: %+v", lost, f)
		}
		if d.Message().Attempt != 1 {
			s.Errorf("attempt %d", d.Message().Attempt)
		}
		s.must(session.Close(s.ctx()))
		if !s.env.Capabilities.FreeRelease {
			break // the close above was counted as well
		}
		s.lose(1)
	}
}

func lostSessionUnstamped(s *scene) {
	s.publish("a")
	session := s.consume(s.b, 1)
	if f := s.receive(session).Facts(); f.Crashes != 0 || f.Unstamped {
		s.Errorf("a first delivery: %+v", f)
	}
	s.env.Cut(s.T, s.b)
	s.within("the end of the session", session.Done())
	d := s.receive(s.consume(s.open(), 1))
	if f := d.Facts(); f.Crashes != 1 || !f.Unstamped {
		s.Errorf("after a lost session: %+v", f)
	}
	s.mustSettle(d, done)
}

// lostSessionSpends: the count is the broker's, so that a fresh client sees it
// go on.
func lostSessionSpends(s *scene) {
	s.publish("a")
	for lost := range 3 {
		b := s.open()
		session := s.consume(b, 1)
		d := s.receive(session)
		if m, f := d.Message(), d.Facts(); m.Attempt != lost+1 || f.Crashes != 0 || f.Unstamped || f.Redelivered != (lost > 0) {
			s.Errorf("after %d lost sessions: attempt %d, %+v", lost, m.Attempt, f)
		}
		s.env.Cut(s.T, b)
		s.within("the end of the session", session.Done())
	}
}

func closeChargesNothing(s *scene) {
	s.publish("read", "unread")
	session := s.consume(s.b, 2)
	s.receive(session)
	s.must(session.Close(s.ctx()))
	for _, d := range s.receiveN(s.consume(s.open(), 2), 2) {
		if d.Facts().Crashes != 0 {
			s.Errorf("%q: %+v", d.Message().Body, d.Facts())
		}
		s.mustSettle(d, done)
	}
}

func prefetchedChargedOnce(s *scene) {
	const n = 20
	s.publish(numbered("m", n)...)
	s.lose(n)
	session := s.consume(s.b, n)
	for _, d := range s.receiveN(session, n) {
		if d.Message().Attempt > s.again(1) || d.Facts().Crashes > 1 {
			s.Errorf("%q: attempt %d, %+v", d.Message().Body, d.Message().Attempt, d.Facts())
		}
		s.mustSettle(d, done)
	}
	s.must(session.Close(s.ctx()))
	s.ends(0)
}

// killer is the case that most brokers get wrong: a message that ends the
// process takes its prefetched neighbours with it, each time.
func killer(s *scene) {
	const crashes, neighbours = 3, 20
	s.publish(numbered("before", neighbours/2)...)
	s.publish("killer")
	s.publish(numbered("after", neighbours/2)...)
	r := s.start(s.b, s.killed("killer"), func(c *holdfast.ConsumerConfig) { c.Policy.Crashes = crashes })
	s.awaitAll(neighbours+1, r)
	m := s.one()
	s.wantReason(m, broker.ReasonCrashLoop)
	most := crashes
	if s.env.Capabilities.Attempts {
		most += len(ladder) // any of them may have been a retry
	}
	if string(m.Message.Body) != "killer" || m.Capture.Attempt > s.again(most) {
		s.Errorf("%q is parked, at attempt %d", m.Message.Body, m.Capture.Attempt)
	}
	s.wantKills(r, "killer", most)
	if books := r.stop(); books.Parked != 1 {
		s.Errorf("books %+v", books)
	}
	s.wantAll(neighbours+1, r)
	s.ends(1)
}

// killed is a handler whose process dies with the message of that body: its
// connections are cut while it runs.
func (s *scene) killed(body string) holdfast.Handler {
	return func(_ context.Context, m *holdfast.Message) error {
		if string(m.Body) != body {
			return nil
		}
		s.env.Cut(s.T, s.b)
		return nil // nobody will hear it: the delivery is the broker's again
	}
}

// wantKills checks that the killer ran at most as often as it may, and that
// nobody else was charged more than once.
func (s *scene) wantKills(r *running, killer string, most int) {
	s.Helper()
	kills := 0
	for _, c := range r.seen() {
		if c.body() == killer {
			kills++
		}
	}
	if kills == 0 || kills > most {
		s.Errorf("the killer ran %d times, and may %d times", kills, most)
	}
	for _, e := range r.told(holdfast.EventDone) {
		if e.Crashes > 1 && !strings.HasPrefix(e.MessageID, killer) {
			s.Errorf("%s was charged %d crashes", e.MessageID, e.Crashes)
		}
	}
}

func poison(s *scene) {
	const n = 20
	other := s.env.NewQueue(s.T)
	for _, queue := range []string{s.queue, other} {
		for _, body := range append(numbered("m", n), "poison") {
			s.env.Publish(s.T, queue, &broker.Message{Body: []byte(body)})
		}
	}
	h := func(_ context.Context, m *holdfast.Message) error {
		if strings.HasPrefix(string(m.Body), "poison") {
			panic(errFail)
		}
		return nil
	}
	first := s.start(s.b, h)
	second := s.start(s.b, ok, func(c *holdfast.ConsumerConfig) { c.Queue = other })
	first.awaitBooks("its own queue goes on", func(b holdfast.Books) bool { return b.Done == n && b.Parked == 1 })
	second.awaitBooks("another queue goes on", func(b holdfast.Books) bool { return b.Done == n+1 })
	first.stop()
	second.stop()
	s.ends(1)
}

// handledIsUncharged: whoever returned from its handler did not kill anything,
// so that a crash of before is known to that delivery and not to its copy.
func handledIsUncharged(s *scene) {
	s.publish("a")
	s.lose(1)
	r := s.start(s.b, failing(1, errFail))
	done := r.awaitTold(holdfast.EventDone, 1)[0]
	if delayed := r.told(holdfast.EventDelayed)[0]; delayed.Crashes != 1 || delayed.Attempt != 1 {
		s.Errorf("delayed at attempt %d with %d crashes", delayed.Attempt, delayed.Crashes)
	}
	if done.Crashes != 0 || done.Attempt != 2 {
		s.Errorf("done at attempt %d with %d crashes", done.Attempt, done.Crashes)
	}
	r.stop()
	s.ends(0)
}
