package brokertest

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// The life of a consumer, through the core.
var consumerCases = []testCase{
	{name: "a_missing_queue_is_returned_at_once", run: runMissing},
	{name: "a_stop_lets_the_handler_finish", run: stopFinishes},
	{name: "a_stop_gives_back_what_did_not_run", run: stopGivesBack},
	{name: "a_handler_cut_off_after_the_grace_is_released", run: graceSpendsNothing},
	{name: "two_consumers_share_one_budget", run: twoConsumers, needs: all(delays)},
	{name: "a_cut_of_one_consumer_charges_no_more_than_the_broker_counts", run: cutOfOne},
	{name: "many_handlers_at_once_take_each_message_once", run: manyHandlers},
}

func runMissing(s *scene) {
	r := s.start(s.b, ok, func(c *holdfast.ConsumerConfig) { c.Queue += "-missing" })
	s.within("Run returns", r.done)
	s.wants(r.err, broker.ErrMissing)
}

// gate is a handler that waits inside.
type gate struct {
	entered chan struct{}
	opened  chan struct{}
	once    sync.Once
}

func newGate() *gate { return &gate{entered: make(chan struct{}), opened: make(chan struct{})} }

func (g *gate) wait(context.Context, *holdfast.Message) error {
	g.once.Do(func() { close(g.entered) })
	<-g.opened
	return nil
}

func stopFinishes(s *scene) {
	g := newGate()
	s.publish("a")
	r := s.start(s.b, g.wait)
	s.within("the handler runs", g.entered)
	r.cancel()
	r.awaitState(holdfast.StateStopping)
	close(g.opened)
	if books := r.stop(); books.Done != 1 || books.Released != 0 {
		s.Errorf("books %+v", books)
	}
	s.ends(0)
}

func stopGivesBack(s *scene) {
	g := newGate()
	s.publish(numbered("m", 5)...)
	r := s.start(s.b, g.wait)
	s.within("the handler runs", g.entered)
	r.cancel()
	r.awaitState(holdfast.StateStopping)
	close(g.opened)
	r.stop()
	second := s.start(s.open(), ok)
	rest := 5 - int(r.Books().Done)
	second.awaitBooks("the rest is done", func(b holdfast.Books) bool { return int(b.Done) == rest })
	for _, c := range second.seen() {
		if c.m.Attempt != 1 {
			s.Errorf("%q came as attempt %d", c.body(), c.m.Attempt)
		}
	}
	second.stop()
	s.ends(0)
}

func graceSpendsNothing(s *scene) {
	entered := make(chan struct{})
	s.publish("a")
	r := s.start(s.b, func(ctx context.Context, _ *holdfast.Message) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}, func(c *holdfast.ConsumerConfig) { c.Grace = 50 * time.Millisecond })
	s.within("the handler runs", entered)
	if books := r.stop(); books.Released != 1 || books.Received != 1 {
		s.Errorf("books %+v", books)
	}
	second := s.start(s.open(), ok)
	if m := second.await(1)[0].m; m.Attempt != s.again(1) || m.Lap != 0 {
		s.Errorf("attempt %d, lap %d", m.Attempt, m.Lap)
	}
	second.awaitTold(holdfast.EventDone, 1)
	second.stop()
	s.ends(0)
}

func twoConsumers(s *scene) {
	const n = 10
	wide := func(c *holdfast.ConsumerConfig) { c.Prefetch, c.Concurrency = 10, 4 }
	first, second := s.start(s.b, fail, wide), s.start(s.open(), fail, wide)
	first.awaitState(holdfast.StateAttached)
	second.awaitState(holdfast.StateAttached)
	s.publish(numbered("m", n)...)
	list := s.awaitParked(n)
	for _, m := range list {
		s.wantReason(m, broker.ReasonExhausted)
	}
	runs := map[string]int{}
	for _, c := range append(first.seen(), second.seen()...) {
		runs[c.body()]++
	}
	for body, count := range runs {
		if count != len(ladder)+1 {
			s.Errorf("%s ran %d times", body, count)
		}
	}
	first.stop()
	second.stop()
	s.ends(n)
}

// cutOfOne: one consumer holds prefetched messages when its connection is cut,
// and another gets them.
func cutOfOne(s *scene) {
	const n = 20
	victim := s.open()
	session := s.consume(victim, n)
	s.publish(numbered("m", n)...)
	s.receiveN(session, n/2)
	survivor := s.start(s.b, ok)
	survivor.awaitState(holdfast.StateAttached)
	s.env.Cut(s.T, victim)
	survivor.awaitBooks("all are done", func(b holdfast.Books) bool { return b.Done == n })
	for _, c := range survivor.seen() {
		if c.m.Attempt > s.again(1) {
			s.Errorf("%s came as attempt %d", c.body(), c.m.Attempt)
		}
	}
	for _, e := range survivor.told(holdfast.EventDone) {
		if e.Crashes > 1 {
			s.Errorf("%s was charged %d crashes", e.MessageID, e.Crashes)
		}
	}
	survivor.stop()
	s.ends(0)
}

func manyHandlers(s *scene) {
	const n = 200
	s.publish(numbered("m", n)...)
	r := s.start(s.b, ok, func(c *holdfast.ConsumerConfig) { c.Concurrency = 16 })
	r.awaitBooks("all are done", func(b holdfast.Books) bool { return b.Done == n })
	runs := map[string]int{}
	for _, c := range r.seen() {
		runs[c.body()]++
	}
	if len(runs) != n || len(r.seen()) != n {
		s.Errorf("%d calls for %d messages", len(r.seen()), len(runs))
	}
	r.stop()
	s.ends(0)
}
