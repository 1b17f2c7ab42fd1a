package brokertest

import (
	"context"
	"errors"

	"github.com/holdfast-mq/holdfast/broker"
)

// The life of a session, at the seam.
var sessionCases = []testCase{
	{name: "a_missing_queue_is_a_permanent_error", run: openMissing},
	{name: "nothing_comes_before_consume", run: nothingBeforeConsume},
	{name: "prefetch_bounds_what_is_unsettled", run: prefetchBounds},
	{name: "pause_lets_the_rest_be_received_and_settled", run: pauseDrains},
	{name: "a_paused_session_goes_on", run: pauseResumes},
	{name: "receive_ends_with_its_context", run: receiveEnds},
	{name: "a_probe_finds_an_attached_session", run: probeAttached},
	{name: "a_probe_finds_a_deleted_queue", run: probeDeleted},
	{name: "close_is_visible_and_may_come_twice", run: closeVisible},
	{name: "a_cut_is_visible", run: cutVisible},
	{name: "a_cut_wakes_who_receives", run: cutWakes},
	{name: "a_deleted_queue_ends_its_sessions_only", run: deletedQueue},
	{name: "a_cut_client_opens_again", run: opensAgain},
	{name: "a_closed_broker_opens_nothing", run: closedBroker},
	{name: "open_declares_nothing_when_the_source_is_missing", run: missingDeclaresNothing},
}

func openMissing(s *scene) {
	sub := s.subscription()
	sub.Queue += "-missing"
	_, err := s.b.Open(s.ctx(), sub)
	s.wants(err, broker.ErrMissing)
	if !broker.Permanent(err) {
		s.Errorf("%v is not permanent", err)
	}
}

func missingDeclaresNothing(s *scene) {
	sub := s.subscription()
	sub.Queue += "-missing"
	_, err := s.b.Open(s.ctx(), sub)
	s.wants(err, broker.ErrMissing)
	_, err = s.sifter().Depth(s.ctx(), s.env.Parked(sub.Queue))
	s.wants(err, broker.ErrMissing)
}

func nothingBeforeConsume(s *scene) {
	s.attach(s.b)
	s.publish("a")
	s.eventually("it is counted", func() bool { return s.waiting(s.queue) == 1 }) // some count a moment late
	s.never("the message leaves its queue", func() bool { return s.waiting(s.queue) != 1 })
}

func prefetchBounds(s *scene) {
	session := s.consume(s.b, 2)
	s.publish(numbered("m", 4)...)
	list := s.receiveN(session, 2)
	s.receivesNothing(session)
	s.mustSettle(list[1], done)
	list = append(list[:1], s.receive(session))
	s.receivesNothing(session)
	for _, d := range list {
		s.mustSettle(d, done)
	}
	s.mustSettle(s.receive(session), done)
	s.must(session.Close(s.ctx()))
	s.endsUnwaited(0)
}

func pauseDrains(s *scene) {
	session := s.consume(s.b, 3)
	s.publish(numbered("m", 5)...)
	held := s.receive(session)
	s.eventually("three are out", func() bool { return s.waiting(s.queue) == 2 })
	s.must(session.Pause(s.ctx()))
	s.must(session.Pause(s.ctx()))
	rest := s.receiveN(session, 2)
	_, err := session.Receive(s.ctx())
	s.wants(err, broker.ErrPaused)
	for _, d := range append(rest, held) {
		s.mustSettle(d, done)
	}
	_, err = session.Receive(s.ctx())
	s.wants(err, broker.ErrPaused)
	if n := s.waiting(s.queue); n != 2 {
		s.Errorf("%d messages are left, not 2", n)
	}
}

// pauseResumes: what was delivered before the pause counts for nothing but
// itself, so a prefetch of one still lets one more come.
func pauseResumes(s *scene) {
	session := s.consume(s.b, 1)
	s.publish(numbered("m", 3)...)
	first := s.receive(session)
	s.must(session.Pause(s.ctx()))
	s.must(session.Consume(s.ctx(), 1))
	second := s.receive(session)
	s.receivesNothing(session)
	s.mustSettle(first, done)
	s.receivesNothing(session)
	s.mustSettle(second, done)
	s.mustSettle(s.receive(session), done)
	s.must(session.Close(s.ctx()))
	s.endsUnwaited(0)
}

func receiveEnds(s *scene) {
	session := s.consume(s.b, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := session.Receive(ctx)
	s.wants(err, context.Canceled)
	s.publish("a")
	s.mustSettle(s.receive(session), done)
}

func probeAttached(s *scene) {
	session := s.consume(s.b, 1)
	s.must(session.Probe(s.ctx()))
	s.must(session.Close(s.ctx()))
	if err := session.Probe(s.ctx()); err == nil {
		s.Error("a closed session is attached")
	}
}

func probeDeleted(s *scene) {
	session := s.consume(s.b, 1)
	s.env.DeleteQueue(s.T, s.queue)
	s.eventually("the probe fails", func() bool { return session.Probe(s.ctx()) != nil })
}

func closeVisible(s *scene) {
	session := s.consume(s.b, 1)
	if err := session.Err(); err != nil {
		s.Errorf("a live session has an error: %v", err)
	}
	s.must(session.Close(s.ctx()))
	s.within("Done", session.Done())
	s.wants(session.Err(), broker.ErrClosed)
	_, err := session.Receive(s.ctx())
	s.wants(err, broker.ErrClosed)
	s.must(session.Close(s.ctx()))
	s.must(s.b.Close())
	s.must(s.b.Close())
}

func cutVisible(s *scene) {
	session := s.consume(s.b, 2)
	s.publish("received", "unread")
	d := s.receive(session)
	s.env.Cut(s.T, s.b)
	s.within("Done", session.Done())
	if session.Err() == nil || errors.Is(session.Err(), broker.ErrClosed) || broker.Permanent(session.Err()) {
		s.Errorf("the reason is %v", session.Err())
	}
	_, err := session.Receive(s.ctx())
	if err == nil || err.Error() != session.Err().Error() {
		s.Errorf("receive: %v, and the session ended with %v", err, session.Err())
	}
	s.wants(s.settle(d, done), broker.ErrClosed)
	for _, d := range s.receiveN(s.consume(s.open(), 2), 2) {
		s.mustSettle(d, done)
	}
}

func cutWakes(s *scene) {
	session := s.consume(s.b, 1)
	woken := make(chan struct{})
	var err error
	go func() {
		defer close(woken)
		_, err = session.Receive(context.Background())
	}()
	s.env.Cut(s.T, s.b)
	s.within("receive returns", woken)
	if err == nil {
		s.Error("receive returned a delivery")
	}
}

func deletedQueue(s *scene) {
	other := s.env.NewQueue(s.T)
	sub := s.subscription()
	sub.Queue = other
	stays, err := s.b.Open(s.ctx(), sub)
	s.must(err)
	s.must(stays.Consume(s.ctx(), 1))
	ends := s.consume(s.b, 1)
	s.env.DeleteQueue(s.T, s.queue)
	s.within("Done", ends.Done())
	s.wants(ends.Err(), broker.ErrDetached)
	s.env.Publish(s.T, other, &broker.Message{Body: []byte("a")})
	s.mustSettle(s.receive(stays), done)
	s.must(stays.Close(s.ctx()))
}

// opensAgain retries as a consumer would: the client may still be finding out.
func opensAgain(s *scene) {
	first := s.consume(s.b, 1)
	s.env.Cut(s.T, s.b)
	s.within("Done", first.Done())
	var second broker.Session
	s.eventually("open succeeds", func() bool {
		session, err := s.b.Open(s.ctx(), s.subscription())
		second = session
		return err == nil
	})
	s.must(second.Consume(s.ctx(), 1))
	s.publish("a")
	s.mustSettle(s.receive(second), done)
	s.must(second.Close(s.ctx()))
}

func closedBroker(s *scene) {
	s.must(s.b.Close())
	if _, err := s.b.Open(s.ctx(), s.subscription()); err == nil {
		s.Error("a closed broker opened a session")
	}
}
