package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
)

// sickness is a handler that parks every message while it lasts, each with an
// error of its own text.
type sickness struct {
	well  atomic.Bool
	calls atomic.Int64
	other atomic.Bool // fail for another cause
}

func (s *sickness) handle(_ context.Context, m *holdfast.Message) error {
	n := s.calls.Add(1)
	switch {
	case s.well.Load():
		return nil
	case s.other.Load():
		return holdfast.Park(fmt.Errorf("the price is negative: %d", n))
	default:
		return holdfast.Park(fmt.Errorf("no customer %d for %q", n, m.Body))
	}
}

var brake = holdfast.Brake{Share: 0.5, Min: 5}

func bodies(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("body %d", i))
	}
	return all
}

// kinds are brokers that charge a release differently.
var kinds = map[string][]membroker.Option{
	"free release":  nil,
	"counts":        {membroker.WithoutFreeRelease},
	"no counts":     {membroker.WithoutCounts, membroker.WithoutFreeRelease},
	"counts itself": {membroker.WithAttempts},
}

// eachBrake runs f with a sick consumer on every kind of broker, one handler at a
// time and several.
func eachBrake(t *testing.T, brake holdfast.Brake, f func(*trial, *sickness)) {
	t.Helper()
	for name, opts := range kinds {
		for _, concurrency := range []int{1, 8} {
			t.Run(fmt.Sprintf("%s, %d at once", name, concurrency), func(t *testing.T) {
				t.Parallel()
				var s sickness
				cfg := holdfast.ConsumerConfig{Brake: brake, Concurrency: concurrency, Prefetch: 20, Handler: s.handle}
				try(t, cfg, func(tr *trial) { f(tr, &s) }, opts...)
			})
		}
	}
}

func TestTheBrakeKeepsTheQueueFromParking(t *testing.T) {
	t.Parallel()
	eachBrake(t, brake, func(tr *trial, s *sickness) {
		tr.publish(bodies(100)...)
		tr.pass(time.Hour)
		tr.wantBraked(s)
		s.well.Store(true)
		if !tr.consumer.ReleaseBrake() || tr.consumer.ReleaseBrake() {
			tr.Error("the brake was not on, or is on still")
		}
		tr.pass(time.Minute)
		if b := tr.consumer.Books(); b.Done != 96 || b.Parked != 4 || b.InFlight != 0 {
			tr.Errorf("books: %+v", b)
		}
		if h := tr.consumer.Health(); !h.Ready() || h.Braked != "" || !h.BrakedSince.IsZero() {
			tr.Errorf("health afterwards: %+v", h)
		}
		if braked, un := tr.count(holdfast.EventBraked), tr.count(holdfast.EventUnbraked); braked != 1 || un != 1 {
			tr.Errorf("%d braked, %d unbraked", braked, un)
		}
	})
}

// wantBraked is how 100 messages stand that a brake of at least 5 has stopped.
func (tr *trial) wantBraked(s *sickness) {
	tr.Helper()
	h := tr.consumer.Health()
	if h.State != holdfast.StateAttached || h.Ready() || h.Braked == "" || h.BrakedSince.IsZero() {
		tr.Errorf("health: %+v", h)
	}
	if p := len(tr.parked()); p != 4 {
		tr.Errorf("%d parked, want 4: the fifth trips the brake", p)
	}
	if n := len(tr.broker.Messages(queue)); n != 96 {
		tr.Errorf("%d in the queue, want 96", n)
	}
	if calls := s.calls.Load(); calls > 5+8 {
		tr.Errorf("%d calls of the handler", calls)
	}
}

func TestTheBrakeProbes(t *testing.T) {
	t.Parallel()
	probing := brake
	probing.Probe = time.Minute
	eachBrake(t, probing, func(tr *trial, s *sickness) {
		tr.publish(bodies(100)...)
		if tr.consumer.Health().Braked == "" {
			tr.Fatal("the brake is not on")
		}
		tr.pass(3*time.Minute + time.Second)
		if p := len(tr.parked()); p != 4+3 {
			tr.Errorf("%d parked after three probes, want 7", p)
		}
		s.other.Store(true)
		tr.pass(time.Minute)
		if p := len(tr.parked()); p != 8 || tr.consumer.Health().Braked == "" {
			tr.Errorf("%d parked after a probe of another cause, want 8; health %+v", p, tr.consumer.Health())
		}
		s.well.Store(true)
		tr.pass(2 * time.Minute)
		if b := tr.consumer.Books(); b.Done != 92 || b.Parked != 8 {
			tr.Errorf("books: %+v", b)
		}
		if braked, un := tr.count(holdfast.EventBraked), tr.count(holdfast.EventUnbraked); braked != 1 || un != 1 {
			tr.Errorf("%d braked, %d unbraked", braked, un)
		}
	})
}

func TestTheBrakeStaysOnOverANewSession(t *testing.T) {
	t.Parallel()
	eachBrake(t, brake, func(tr *trial, s *sickness) {
		tr.publish(bodies(50)...)
		calls := s.calls.Load()
		tr.broker.Cut()
		tr.pass(time.Minute)
		if h := tr.consumer.Health(); h.State != holdfast.StateAttached || h.Braked == "" {
			tr.Errorf("health: %+v", h)
		}
		if s.calls.Load() != calls || len(tr.parked()) != 4 {
			tr.Errorf("%d calls more, %d parked", s.calls.Load()-calls, len(tr.parked()))
		}
		s.well.Store(true)
		tr.consumer.ReleaseBrake()
		tr.pass(time.Minute)
		if b := tr.consumer.Books(); b.Done != 46 {
			tr.Errorf("books: %+v", b)
		}
	})
}

func TestTheBrakeWaitsForAProbeThatIsNotThere(t *testing.T) {
	t.Parallel()
	probing := brake
	probing.Probe = time.Minute
	eachBrake(t, probing, func(tr *trial, s *sickness) {
		tr.publish(bodies(5)...)
		tr.pass(time.Hour) // the one that was withheld is parked by the first probe
		if p := len(tr.parked()); p != 5 || tr.consumer.Health().Braked == "" {
			tr.Errorf("%d parked, %+v", p, tr.consumer.Health())
		}
		tr.consumer.ReleaseBrake()
		s.well.Store(true)
		tr.publish("one", "two", "three")
		if b := tr.consumer.Books(); b.Done != 3 {
			tr.Errorf("books: %+v", b)
		}
	})
}

// TestTheBrakeIsOffForAFewAmongMany: what is mostly well goes on.
func TestTheBrakeIsOffForAFewAmongMany(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	cfg := holdfast.ConsumerConfig{Brake: brake, Concurrency: 4, Handler: func(context.Context, *holdfast.Message) error {
		if n.Add(1)%3 == 0 {
			return holdfast.Park(errors.New("bad"))
		}
		return nil
	}}
	try(t, cfg, func(tr *trial) {
		tr.publish(bodies(300)...)
		if b := tr.consumer.Books(); b.Done != 200 || b.Parked != 100 {
			tr.Errorf("books: %+v", b)
		}
	})
}

// TestTheBrakeCountsTheEndOfTheLadder: retries on the way there are no final fates.
func TestTheBrakeCountsTheEndOfTheLadder(t *testing.T) {
	t.Parallel()
	cfg := holdfast.ConsumerConfig{Brake: brake, Policy: short(), Handler: func(context.Context, *holdfast.Message) error { return errors.New("down") }}
	try(t, cfg, func(tr *trial) {
		tr.publish(bodies(40)...)
		tr.pass(time.Minute)
		if b := tr.consumer.Books(); b.Delayed < 5 || b.Parked != 4 || tr.consumer.Health().Braked == "" {
			tr.Errorf("books: %+v", b)
		}
	})
}

func TestAConsumerWithoutABrake(t *testing.T) {
	t.Parallel()
	var s sickness
	try(t, holdfast.ConsumerConfig{Handler: s.handle}, func(tr *trial) {
		tr.publish(bodies(100)...)
		if len(tr.parked()) != 100 || tr.consumer.ReleaseBrake() {
			tr.Errorf("books: %+v", tr.consumer.Books())
		}
	})
}

// TestAConsumerThatTheBrokerForgotIsNotReadyForLong: the link is gone and nothing
// says so; the next probe finds it.
func TestAConsumerThatTheBrokerForgotIsNotReadyForLong(t *testing.T) {
	t.Parallel()
	try(t, holdfast.ConsumerConfig{Handler: func(context.Context, *holdfast.Message) error { return nil }}, func(tr *trial) {
		ask := func() int {
			w := httptest.NewRecorder()
			holdfast.Readiness(tr.consumer).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
			return w.Code
		}
		tr.pass(time.Minute)
		tr.broker.DropConsumers(queue)
		tr.publish("one", "two")
		tr.broker.RefuseClients(broker.ErrPermission)
		tr.pass(20 * time.Second)
		if code := ask(); code != http.StatusServiceUnavailable {
			tr.Errorf("ready: %d", code)
		}
		tr.pass(time.Hour)
		w := httptest.NewRecorder()
		holdfast.Liveness(tr.consumer).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/live", nil))
		if w.Code != http.StatusOK {
			tr.Errorf("not alive after an hour without its broker: %s", w.Body)
		}
		tr.broker.RefuseClients(nil)
		tr.pass(time.Minute)
		if code := ask(); code != http.StatusOK || tr.consumer.Books().Done != 2 {
			tr.Errorf("ready afterwards: %d, books %+v", code, tr.consumer.Books())
		}
	})
}
