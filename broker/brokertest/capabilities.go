package brokertest

import (
	"github.com/holdfast-mq/holdfast/broker"
)

// Both directions: what is declared works, and what is not declared is refused
// and leaves the delivery open.
var capabilityCases = []testCase{
	{name: "are_what_the_author_says", run: asDeclared},
	{name: "a_declared_delay_works", run: delayWorks, needs: all(delays)},
	{name: "an_undeclared_delay_is_refused", run: delayRefused, lacks: all(delays)},
	{name: "a_declared_hold_works", run: holdWorks, needs: all(holds)},
	{name: "an_undeclared_hold_is_refused", run: holdRefused, lacks: all(holds)},
	{name: "a_transient_source_declares_no_hold", run: transientRefuses, hook: hasTransient},
	{name: "a_declared_reply_works", run: replyWorks, needs: all(replies)},
	{name: "an_undeclared_reply_is_refused", run: replyRefused, lacks: all(replies)},
	{name: "a_declared_stamp_works", run: stampedRelease, needs: all(stamps)},
	{name: "an_undeclared_stamp_is_refused", run: stampRefused, lacks: all(stamps)},
	{name: "a_declared_free_release_charges_nothing", run: freeReleases, needs: all(freeRelease)},
	{name: "a_release_that_is_not_free_is_known", run: chargedRelease, lacks: all(freeRelease)},
}

func asDeclared(s *scene) {
	got, want := s.attach(s.b).Capabilities(), s.env.Capabilities
	if got.Broker == "" {
		s.Error("the session does not name its broker")
	}
	s.suite.product, want.Broker = got.Broker, got.Broker
	if got != want {
		s.Errorf("the session declares\n %+v, not\n %+v", got, want)
	}
}

// attempt publishes one message, settles it so, and returns the outcome.
func (s *scene) attempt(set broker.Settlement) (broker.Session, broker.Delivery, error) {
	s.Helper()
	session := s.consume(s.b, 1)
	s.env.Publish(s.T, s.queue, &broker.Message{Body: []byte("a"), ReplyTo: s.queue + "-nobody"})
	d := s.receive(session)
	return session, d, s.settle(d, set)
}

// refused proves that nothing was done: the delivery is open and parks.
func (s *scene) refused(set broker.Settlement) {
	s.Helper()
	session, d, err := s.attempt(set)
	s.wants(err, broker.ErrUnsupported)
	s.mustSettle(d, s.parking())
	s.must(session.Close(s.ctx()))
	s.ends(1)
}

// works proves that the message comes back with its capture.
func (s *scene) works(set broker.Settlement) {
	s.Helper()
	session, _, err := s.attempt(set)
	s.must(err)
	d := s.receive(session)
	if m, c := d.Message(), set.Capture; m.Attempt != c.Attempt || m.Lap != c.Lap || d.Facts().Capture == nil && !s.released(set) {
		s.Errorf("attempt %d, lap %d, %+v", m.Attempt, m.Lap, d.Facts())
	}
	s.mustSettle(d, done)
	s.must(session.Close(s.ctx()))
	s.ends(0)
}

func (s *scene) delaying() broker.Settlement {
	return broker.Settlement{Fate: broker.FateDelay, Delay: ladder[0], Capture: newCapture(s.queue, 2)}
}

func (s *scene) holding() broker.Settlement {
	c := newCapture(s.queue, 1)
	c.Lap = 1
	return broker.Settlement{Fate: broker.FateHold, Capture: c}
}

func replying() broker.Settlement {
	return broker.Settlement{Fate: broker.FateDone, Reply: &broker.Reply{Body: []byte("re")}}
}

func delayWorks(s *scene)   { s.works(s.delaying()) }
func delayRefused(s *scene) { s.refused(s.delaying()) }
func holdWorks(s *scene)    { s.works(s.holding()) }
func holdRefused(s *scene)  { s.refused(s.holding()) }
func replyRefused(s *scene) { s.refused(replying()) }

func transientRefuses(s *scene) {
	s.queue = s.env.NewTransientQueue(s.T)
	session, d, err := s.attempt(s.holding())
	s.wants(err, broker.ErrUnsupported)
	if session.Capabilities().Hold {
		s.Error("the session declares a hold")
	}
	s.mustSettle(d, done)
}

func replyWorks(s *scene) {
	session, _, err := s.attempt(replying())
	s.must(err)
	s.must(session.Close(s.ctx()))
	s.ends(0)
}

func stampRefused(s *scene) {
	s.refused(broker.Settlement{Fate: broker.FateRelease, Capture: newCapture(s.queue, 1)})
}

func freeReleases(s *scene) {
	s.releases(func(f broker.Facts) bool { return f.Crashes == 0 && !f.Unstamped })
}

func chargedRelease(s *scene) {
	if s.env.Capabilities.Attempts {
		s.releases(func(f broker.Facts) bool { return f.Crashes == 0 && f.Redelivered && !f.Unstamped })
		return
	}
	s.releases(func(f broker.Facts) bool { return f.Crashes == 1 && f.Unstamped == !s.env.Capabilities.Counts })
}

// released reports whether a settlement lets the message itself come again:
// no copy of it carries the capture.
func (s *scene) released(set broker.Settlement) bool {
	return s.env.Capabilities.Attempts && set.Fate == broker.FateDelay
}

// again is the attempt of a message that came again n times without having
// failed: where the broker counts attempts, each time was one.
func (s *scene) again(n int) int {
	if s.env.Capabilities.Attempts {
		return n + 1
	}
	return 1
}

func (s *scene) releases(expected func(broker.Facts) bool) {
	s.Helper()
	session, _, err := s.attempt(broker.Settlement{Fate: broker.FateRelease})
	s.must(err)
	d := s.receive(session)
	if !expected(d.Facts()) {
		s.Errorf("after a release: %+v", d.Facts())
	}
	s.mustSettle(d, done)
}
