package brokertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// What a consumer rides out, through the core.
var outageCases = []testCase{
	{name: "a_restart_of_the_server_loses_nothing", run: restart, hook: canRestart, alone: true},
	{name: "blocked_publishes_do_not_stop_acks", run: blocked, hook: canBlock, alone: true},
	{name: "a_close_while_blocked_is_bounded_and_loses_nothing", run: closeBlocked, hook: canBlock, alone: true},
	{name: "a_cut_is_shown_and_the_consumer_attaches_again", run: cutShown},
	{name: "a_cut_under_the_handler_redelivers", run: cutUnderHandler},
	{name: "a_queue_deleted_and_made_again_is_consumed_again", run: recreated},
	{name: "cuts_under_load_lose_nothing", run: cutsUnderLoad},
}

// mixed makes a mix of fates out of a number at the end of the body.
func mixed(_ context.Context, m *holdfast.Message) error {
	switch m.Body[len(m.Body)-1] {
	case '7':
		return holdfast.Park(errFail)
	case '8':
		return holdfast.Discard(errFail)
	case '9':
		if m.Attempt == 1 {
			return errFail
		}
	}
	return nil
}

// fates is what became of each message, by its id. Where a connection was
// lost an acknowledgement may be lost too, so that a message has a fate twice.
func fates(list ...*running) map[string]holdfast.EventKind {
	found := map[string]holdfast.EventKind{}
	for _, r := range list {
		for _, kind := range []holdfast.EventKind{holdfast.EventParked, holdfast.EventDiscarded, holdfast.EventDone} {
			for _, e := range r.told(kind) {
				found[e.MessageID] = kind
			}
		}
	}
	return found
}

// awaitAll waits until each of n messages has a fate and nothing is under way.
func (s *scene) awaitAll(n int, r *running) { s.awaitAllWithin(s.env.scaled(patience), n, r) }

func (s *scene) awaitAllWithin(d time.Duration, n int, r *running) {
	s.Helper()
	s.eventuallyWithin(d, "everything is settled", func() bool {
		return len(fates(r)) >= n && r.Books().InFlight == 0 && s.waiting(s.queue) == 0
	})
}

// wantAll checks that none of n messages is lost, and that what is said to be
// parked is there.
func (s *scene) wantAll(n int, list ...*running) {
	s.Helper()
	found, want := fates(list...), map[string]bool{}
	for id, kind := range found {
		if kind == holdfast.EventParked {
			want[id] = true
		}
	}
	if len(found) != n {
		s.Errorf("%d of %d messages have a fate", len(found), n)
	}
	parked := s.env.Parked(s.queue)
	s.eventually(fmt.Sprintf("%d parked", len(want)), func() bool { return s.waiting(parked) >= len(want) })
	for _, m := range s.stored(parked) {
		delete(want, m.Message.ID)
	}
	for id := range want {
		s.Errorf("%s is said to be parked, and is not there", id)
	}
}

// restart: the first messages are done, parked, discarded and on a rung when
// the server goes down, and others come afterwards. The consumer attaches again
// by itself.
func restart(s *scene) {
	const before, after = 30, 9 // none of the second is retried: that was proven by then
	rung := s.env.RestartTakes + ladder[0]
	s.publish(numbered("before", before)...)
	r := s.start(s.b, mixed, func(c *holdfast.ConsumerConfig) {
		c.Concurrency, c.Policy.Ladder = 4, []time.Duration{rung}
	})
	r.await(before / 2)
	s.env.Restart(s.T)
	s.publish(numbered("after", after)...)
	r.awaitTold(holdfast.EventAttached, 2)
	s.awaitAllWithin(s.env.scaled(patience)+deadLetterRetry, before+after, r)
	r.stop()
	s.wantAll(before+after, r)
}

// deadLetterRetry is how long RabbitMQ keeps what it could not dead-letter, since
// the target was down when the rung ended: a restart took longer than it should.
const deadLetterRetry = 3 * time.Minute

// blocked: copies wait, what needs none goes on, and an operator can see why.
// The first message lets the consumer leave its one-at-a-time start.
func blocked(s *scene) {
	const good = 7
	g := newGate()
	s.publish(append([]string{"first", "second", "m-7"}, numbered("good", good)...)...)
	r := s.start(s.b, func(ctx context.Context, m *holdfast.Message) error {
		if string(m.Body) != "first" {
			_ = g.wait(ctx, m)
		}
		return mixed(ctx, m)
	}, func(c *holdfast.ConsumerConfig) { c.Prefetch, c.Concurrency = 4, 2 })
	s.within("the start is over", g.entered)
	unblock := s.env.Block(s.T)
	defer unblock()
	close(g.opened)
	r.awaitBooks("good ones are done", func(b holdfast.Books) bool { return b.Done == good+2 })
	r.awaitTold(holdfast.EventBlocked, 1)
	s.eventually("the reason is shown", func() bool { return r.Health().Blocked != "" })
	if b := r.Books(); b.Parked != 0 || b.InFlight != 1 {
		s.Errorf("books while blocked: %+v", b)
	}
	unblock()
	r.awaitBooks("the copy is stored", func(b holdfast.Books) bool { return b.Parked == 1 })
	r.awaitTold(holdfast.EventUnblocked, 1)
	s.eventually("no reason is shown", func() bool { return r.Health().Blocked == "" })
	r.stop()
	s.ends(1)
}

// closeBlocked is the seam's word on a stop in bad times: Close does not wait
// for ever, says that it cut something off, and the message is not lost.
func closeBlocked(s *scene) {
	s.publish("m-7")
	session := s.consume(s.b, 1)
	d := s.receive(session)
	unblock := s.env.Block(s.T)
	defer unblock()
	outcome := s.handOver(d, s.parking())
	ctx, cancel := context.WithTimeout(context.Background(), quiet)
	defer cancel()
	if err := session.Close(ctx); err == nil {
		s.Error("close says that everything was settled")
	}
	if err := s.outcome(outcome); !errors.Is(err, broker.ErrClosed) && !errors.Is(err, broker.ErrUnknown) {
		s.Errorf("the outcome is %v", err)
	}
	unblock()
	r := s.start(s.open(), mixed)
	s.eventually("it is parked", func() bool { return s.waiting(s.env.Parked(s.queue)) > 0 && s.waiting(s.queue) == 0 })
	r.stop()
}

func cutShown(s *scene) {
	s.publish("before")
	r := s.start(s.b, ok)
	r.awaitTold(holdfast.EventDone, 1)
	if h := r.Health(); h.State != holdfast.StateAttached || h.Broker == "" || h.Queue != s.queue {
		s.Errorf("health %+v", h)
	}
	s.env.Cut(s.T, s.b)
	if e := r.awaitTold(holdfast.EventDetached, 1)[0]; e.Err == nil || broker.Permanent(e.Err) {
		s.Errorf("detached with %v", e.Err)
	}
	r.awaitTold(holdfast.EventAttached, 2)
	r.awaitState(holdfast.StateAttached)
	s.publish("after")
	r.awaitTold(holdfast.EventDone, 2)
	r.stop()
	s.ends(0)
}

func cutUnderHandler(s *scene) {
	g := newGate()
	s.publish("a")
	r := s.start(s.b, g.wait)
	s.within("the handler runs", g.entered)
	s.env.Cut(s.T, s.b)
	r.awaitTold(holdfast.EventDetached, 1)
	close(g.opened)
	r.awaitTold(holdfast.EventDone, 1)
	calls := r.seen()
	if last := calls[len(calls)-1].m; len(calls) != 2 || last.Attempt != s.again(1) {
		s.Errorf("%d calls, the last is attempt %d", len(calls), last.Attempt)
	}
	r.stop()
	s.ends(0)
}

func recreated(s *scene) {
	r := s.start(s.b, ok)
	r.awaitState(holdfast.StateAttached)
	s.env.DeleteQueue(s.T, s.queue)
	r.awaitTold(holdfast.EventDetached, 1)
	s.eventually("health shows it", func() bool { return r.Health().State == holdfast.StateReconnecting })
	s.env.RecreateQueue(s.T, s.queue)
	s.publish("a")
	r.awaitTold(holdfast.EventDone, 1)
	r.stop()
	s.ends(0)
}

func cutsUnderLoad(s *scene) {
	const n, cuts = 300, 3
	s.publish(numbered("m", n)...)
	r := s.start(s.b, mixed, func(c *holdfast.ConsumerConfig) { c.Concurrency, c.Policy.Crashes = 4, 100 })
	for i := range cuts {
		settled := int64((i + 1) * n / 10)
		r.awaitBooks("it goes on", func(b holdfast.Books) bool { return b.Done+b.Parked+b.Discarded >= settled })
		s.env.Cut(s.T, s.b)
		r.awaitTold(holdfast.EventAttached, i+2)
	}
	s.awaitAll(n, r)
	r.stop()
	s.wantAll(n, r)
}
