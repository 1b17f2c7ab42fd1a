package brokertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// This file is how cases use the seam through the core.

// errFail is what a handler of the suite fails with.
var errFail = errors.New("the suite says no")

// seen is one call of a handler.
type seen struct {
	at time.Time
	m  holdfast.Message
}

func (c seen) body() string { return string(c.m.Body) }

// runner is what Consumer and Responder have in common.
type runner interface {
	Run(ctx context.Context) error
	Books() holdfast.Books
	Health() holdfast.Health
}

// running is a consumer at work, with what its handler and its observer saw.
type running struct {
	runner
	scene  *scene
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of Run, once done is closed

	mu     sync.Mutex
	calls  []seen
	events []holdfast.Event
}

type configure func(*holdfast.ConsumerConfig)

func policy() holdfast.Policy { return holdfast.Policy{Ladder: ladder, Hold: holdTime} }

// start runs a consumer of the case's queue.
func (s *scene) start(b broker.Broker, h holdfast.Handler, options ...configure) *running {
	s.Helper()
	r := &running{scene: s, done: make(chan struct{})}
	cfg := holdfast.ConsumerConfig{Queue: s.queue, Policy: policy(), Observer: r, Handler: r.record(h)}
	for _, o := range options {
		o(&cfg)
	}
	c, err := holdfast.NewConsumer(b, cfg)
	s.must(err)
	r.begin(c)
	return r
}

func (r *running) begin(c runner) {
	ctx, cancel := context.WithCancel(context.Background())
	r.runner, r.cancel = c, cancel
	go func() {
		defer close(r.done)
		r.err = c.Run(ctx)
	}()
	r.scene.Cleanup(func() {
		cancel()
		<-r.done
	})
}

func (r *running) record(h holdfast.Handler) holdfast.Handler {
	return func(ctx context.Context, m *holdfast.Message) error {
		r.saw(m)
		return h(ctx, m)
	}
}

func (r *running) saw(m *holdfast.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, seen{time.Now(), *m})
}

// Observe keeps the event.
func (r *running) Observe(e holdfast.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *running) seen() []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

func (r *running) told(kind holdfast.EventKind) []holdfast.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.events), func(e holdfast.Event) bool { return e.Kind != kind })
}

// await waits until the handler was called n times and returns the calls.
func (r *running) await(n int) []seen {
	r.scene.Helper()
	r.scene.eventually(fmt.Sprintf("%d calls of the handler", n), func() bool { return len(r.seen()) >= n })
	return r.seen()
}

// awaitTold waits for n events of a kind and returns them.
func (r *running) awaitTold(kind holdfast.EventKind, n int) []holdfast.Event {
	r.scene.Helper()
	r.scene.eventually(fmt.Sprintf("%d events of kind %s", n, kind), func() bool { return len(r.told(kind)) >= n })
	return r.told(kind)
}

// awaitBooks waits for counts.
func (r *running) awaitBooks(what string, ok func(holdfast.Books) bool) {
	r.scene.Helper()
	r.scene.eventually(what, func() bool { return ok(r.Books()) })
}

func (r *running) awaitState(state holdfast.State) {
	r.scene.Helper()
	r.scene.eventually("state "+string(state), func() bool { return r.Health().State == state })
}

// stop stops the consumer in good order and looks at its books.
func (r *running) stop() holdfast.Books {
	r.scene.Helper()
	r.cancel()
	r.scene.within("the end of Run", r.done)
	if r.err != nil {
		r.scene.Errorf("Run: %v", r.err)
	}
	books := r.Books()
	if !books.Balanced() || books.InFlight != 0 {
		r.scene.Errorf("the books do not close: %+v", books)
	}
	return books
}

func ok(context.Context, *holdfast.Message) error { return nil }

func fail(context.Context, *holdfast.Message) error { return errFail }

// failing fails the first n calls for each body.
func failing(n int, err error) holdfast.Handler {
	var mu sync.Mutex
	calls := map[string]int{}
	return func(_ context.Context, m *holdfast.Message) error {
		mu.Lock()
		defer mu.Unlock()
		calls[string(m.Body)]++
		if calls[string(m.Body)] <= n {
			return err
		}
		return nil
	}
}

// one returns the only parked message.
func (s *scene) one() *broker.Stored {
	s.Helper()
	return s.awaitParked(1)[0]
}

// wantReason checks why a message is parked, and that its capture is whole.
func (s *scene) wantReason(m *broker.Stored, reason broker.Reason) {
	s.Helper()
	c := m.Capture
	if c == nil {
		s.Fatalf("%.40q is parked without a valid capture: %v", m.Message.Body, m.CaptureErr)
	}
	if c.Reason != reason {
		s.Errorf("parked as %q, not %q", c.Reason, reason)
	}
	if c.ID == "" || c.Error == "" || c.FirstFailedAt.IsZero() || c.FailedAt.IsZero() || c.Origin.Queue != s.queue {
		s.Errorf("the capture is not whole: %+v", *c)
	}
}
