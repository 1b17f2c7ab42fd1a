package brokertest

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/holdfast-mq/holdfast/broker"
)

var settleCases = []testCase{
	{name: "twice_is_refused_and_doubles_nothing", run: settleTwice},
	{name: "from_many_goroutines_happens_once", run: settleConcurrently},
	{name: "after_close_is_refused_and_redelivered", run: settleAfterClose},
	{name: "after_the_brokers_close_is_refused_and_redelivered", run: settleAfterBrokerClose},
	{name: "after_a_cut_is_refused_and_redelivered", run: settleAfterCut},
	{name: "release_spends_no_more_than_the_broker_counts", run: releaseSpendsNothing},
	{name: "a_stamped_release_keeps_the_counts", run: stampedRelease, needs: all(stamps)},
	{name: "out_of_order_settles_each", run: settleOutOfOrder},
	{name: "many_copies_at_once_are_all_stored", run: settlePipelined},
	{name: "close_waits_for_what_was_handed_over", run: closeWaits},
	{name: "a_fate_that_is_none_is_refused", run: noFate},
}

func (s *scene) parking() broker.Settlement {
	c := newCapture(s.queue, 1)
	c.Reason = broker.ReasonVerdict
	return broker.Settlement{Fate: broker.FatePark, Capture: c}
}

var done = broker.Settlement{Fate: broker.FateDone}

func settleTwice(s *scene) {
	session := s.consume(s.b, 10)
	s.publish("done", "parked")
	first, second := s.receive(session), s.receive(session)
	s.mustSettle(first, done)
	s.wants(s.settle(first, done), broker.ErrSettled)
	s.wants(s.settle(first, s.parking()), broker.ErrSettled)
	s.mustSettle(second, s.parking())
	s.wants(s.settle(second, s.parking()), broker.ErrSettled)
	s.wants(s.settle(second, broker.Settlement{Fate: broker.FateRelease}), broker.ErrSettled)
	s.must(session.Close(s.ctx()))
	s.endsUnwaited(1)
}

func settleConcurrently(s *scene) {
	session := s.consume(s.b, 1)
	s.publish("a")
	d := s.receive(session)
	var succeeded, refused atomic.Int64
	var settled sync.WaitGroup
	for range 8 {
		settled.Add(1)
		go d.Settle(s.parking(), func(err error) {
			defer settled.Done()
			switch {
			case err == nil:
				succeeded.Add(1)
			case errors.Is(err, broker.ErrSettled):
				refused.Add(1)
			}
		})
	}
	settled.Wait()
	if succeeded.Load() != 1 || refused.Load() != 7 {
		s.Errorf("%d succeeded and %d were refused", succeeded.Load(), refused.Load())
	}
	s.must(session.Close(s.ctx()))
	s.endsUnwaited(1)
}

// redelivered proves that a message comes again, uncharged in attempts.
func (s *scene) redelivered(body string) broker.Delivery {
	s.Helper()
	d := s.receive(s.consume(s.open(), 1))
	if m := d.Message(); string(m.Body) != body || m.Attempt != s.again(1) || !s.knownAgain(d) {
		s.Errorf("%q, attempt %d, redelivered %v", m.Body, m.Attempt, m.Redelivered)
	}
	return d
}

// knownAgain reports whether a redelivery is known for one, where the broker
// says anything of that.
func (s *scene) knownAgain(d broker.Delivery) bool {
	return d.Message().Redelivered && d.Facts().Redelivered || s.env.Capabilities.Unenforceable != ""
}

func settleAfterClose(s *scene) {
	session := s.consume(s.b, 1)
	s.publish("a")
	d := s.receive(session)
	s.must(session.Close(s.ctx()))
	s.wants(s.settle(d, s.parking()), broker.ErrClosed)
	s.mustSettle(s.redelivered("a"), done)
	if n := s.waiting(s.env.Parked(s.queue)); n != 0 {
		s.Errorf("%d are parked", n)
	}
}

func settleAfterBrokerClose(s *scene) {
	session := s.consume(s.b, 1)
	s.publish("a")
	d := s.receive(session)
	s.must(s.b.Close())
	s.wants(s.settle(d, done), broker.ErrClosed)
	s.mustSettle(s.redelivered("a"), done)
}

func settleAfterCut(s *scene) {
	session := s.consume(s.b, 1)
	s.publish("a")
	d := s.receive(session)
	s.env.Cut(s.T, s.b)
	s.within("the end of the session", session.Done())
	s.wants(s.settle(d, s.parking()), broker.ErrClosed)
	s.mustSettle(s.redelivered("a"), done)
	if n := s.waiting(s.env.Parked(s.queue)); n != 0 {
		s.Errorf("%d are parked", n)
	}
}

func releaseSpendsNothing(s *scene) {
	session := s.consume(s.b, 1)
	s.publish("a")
	for n := range 3 {
		d := s.receive(session)
		if m := d.Message(); m.Attempt != s.again(n) || m.Lap != 0 {
			s.Errorf("attempt %d, lap %d", m.Attempt, m.Lap)
		}
		s.mustSettle(d, broker.Settlement{Fate: broker.FateRelease})
	}
	d := s.receive(session)
	if f := d.Facts(); !s.knownAgain(d) || (s.env.Capabilities.FreeRelease && f.Crashes != 0) {
		s.Errorf("facts %+v", f)
	}
	s.mustSettle(d, done)
	s.must(session.Close(s.ctx()))
	s.endsUnwaited(0)
}

func stampedRelease(s *scene) {
	session := s.consume(s.b, 1)
	s.publish("a")
	c := newCapture(s.queue, 3)
	c.Lap, c.Crashes = 2, 1
	s.mustSettle(s.receive(session), broker.Settlement{Fate: broker.FateRelease, Capture: c})
	d := s.receive(session)
	m, f := d.Message(), d.Facts()
	if m.Attempt != 3 || m.Lap != 2 || f.Crashes != 1 || f.Unstamped || f.Capture == nil || f.Capture.ID != c.ID {
		s.Errorf("attempt %d, lap %d, facts %+v", m.Attempt, m.Lap, f)
	}
	s.mustSettle(d, done)
	s.must(session.Close(s.ctx()))
	s.ends(0)
}

// settleOutOfOrder settles the last first, which a driver that coalesces
// acknowledgements must not turn into the loss of the others.
func settleOutOfOrder(s *scene) {
	session := s.consume(s.b, 5)
	s.publish(numbered("m", 5)...)
	list := s.inOrder(s.receiveN(session, 5))
	s.mustSettle(list[4], done)
	s.mustSettle(list[2], done)
	s.must(session.Close(s.ctx()))
	second := s.consume(s.open(), 5)
	again := s.inOrder(s.receiveN(second, 3))
	for i, want := range []string{"m-000", "m-001", "m-003"} {
		d := again[i]
		if body := string(d.Message().Body); body != want {
			s.Errorf("redelivery %d is %q, not %q", i, body, want)
		}
		s.mustSettle(d, done)
	}
	s.must(second.Close(s.ctx()))
	s.endsUnwaited(0)
}

func settlePipelined(s *scene) {
	const n = 200
	session := s.consume(s.b, n)
	s.publish(numbered("m", n)...)
	outcomes := make([]<-chan error, n)
	for i, d := range s.receiveN(session, n) {
		outcomes[i] = s.handOver(d, s.parking())
	}
	for _, o := range outcomes {
		s.must(s.outcome(o))
	}
	bodies := map[string]bool{}
	for _, m := range s.awaitParked(n) {
		bodies[string(m.Message.Body)] = true
	}
	if len(bodies) != n {
		s.Errorf("%d different messages are parked", len(bodies))
	}
	s.must(session.Close(s.ctx()))
	s.endsUnwaited(n)
}

func closeWaits(s *scene) {
	const n = 50
	session := s.consume(s.b, n)
	s.publish(numbered("m", n)...)
	outcomes := make([]<-chan error, n)
	for i, d := range s.receiveN(session, n) {
		outcomes[i] = s.handOver(d, s.parking())
	}
	s.must(session.Close(s.ctx()))
	for _, o := range outcomes {
		s.must(s.outcome(o))
	}
	s.endsUnwaited(n)
}

func noFate(s *scene) {
	session := s.consume(s.b, 1)
	s.publish("a")
	d := s.receive(session)
	s.wants(s.settle(d, broker.Settlement{}), broker.ErrUnsupported)
	s.mustSettle(d, done)
	s.must(session.Close(s.ctx()))
	s.endsUnwaited(0)
}
