package brokertest

import (
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast"
)

var bookCases = []testCase{
	{name: "balance_at_every_moment_under_load", run: booksUnderLoad},
	{name: "balance_at_every_moment_through_cuts", run: booksThroughCuts},
}

// audit reads the books thousands of times a second until it is told to stop:
// all the time would take one of few cores from what is under test.
func (r *running) audit() (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		looks := time.NewTicker(100 * time.Microsecond)
		defer looks.Stop()
		for {
			select {
			case <-quit:
				return
			case <-looks.C:
			}
			if b := r.Books(); !b.Balanced() || b.InFlight < 0 {
				r.scene.Errorf("the books do not balance: %+v", b)
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(quit)
		wg.Wait()
	})
}

func booksUnderLoad(s *scene) {
	const n = 200
	r := s.start(s.b, mixed, func(c *holdfast.ConsumerConfig) { c.Concurrency = 4 })
	stop := r.audit()
	defer stop()
	s.publish(numbered("m", n)...)
	s.awaitAll(n, r)
	stop()
	b := r.stop()
	delayed := int64(0)
	if s.env.Capabilities.Delay {
		delayed = n / 10
	}
	want := holdfast.Books{
		Received: n + delayed, Done: 7*n/10 + delayed, Delayed: delayed, Parked: n/10 + n/10 - delayed, Discarded: n / 10,
	}
	b.Released, want.Received = 0, want.Received+b.Released
	if b != want {
		s.Errorf("the books say\n %+v, not\n %+v", b, want)
	}
	s.ends(int(want.Parked))
}

func booksThroughCuts(s *scene) {
	const n = 200
	s.publish(numbered("m", n)...)
	r := s.start(s.b, mixed, func(c *holdfast.ConsumerConfig) { c.Concurrency, c.Policy.Crashes = 4, 100 })
	stop := r.audit()
	defer stop()
	for i := range 2 {
		settled := int64((i + 1) * n / 5)
		r.awaitBooks("it goes on", func(b holdfast.Books) bool { return b.Done+b.Parked+b.Discarded >= settled })
		s.env.Cut(s.T, s.b)
		r.awaitTold(holdfast.EventAttached, i+2)
	}
	s.awaitAll(n, r)
	r.stop()
	s.wantAll(n, r)
}
