package brokertest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// scene is the stage of one case: a queue of its own, and a client.
type scene struct {
	*testing.T
	suite *suite
	env   *Env // the suite's
	queue string
	b     broker.Broker // under test
}

func newScene(t *testing.T, all *suite) *scene {
	s := &scene{T: t, suite: all, env: all.env}
	s.queue = s.env.NewQueue(t)
	s.b = s.open()
	return s
}

// open returns a client that is closed at the end.
func (s *scene) open() broker.Broker {
	s.Helper()
	b := s.env.Open(s.T)
	s.Cleanup(func() {
		if err := b.Close(); err != nil {
			s.Errorf("closing the broker: %v", err)
		}
	})
	return b
}

// ctx ends when nothing that it is given to may still take longer.
func (s *scene) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), s.env.scaled(patience))
	s.Cleanup(cancel)
	return ctx
}

// eventually polls ok until it is true, and ends the case when that takes too
// long. It is the only way to wait for what gives no signal.
func (s *scene) eventually(what string, ok func() bool) {
	s.Helper()
	s.eventuallyWithin(s.env.scaled(patience), what, ok)
}

func (s *scene) eventuallyWithin(d time.Duration, what string, ok func() bool) {
	s.Helper()
	deadline := time.Now().Add(d)
	for !ok() {
		if time.Now().After(deadline) {
			s.Fatalf("not within %v: %s", d, what)
		}
		time.Sleep(pollEvery)
	}
}

// never watches for what must not happen.
func (s *scene) never(what string, happened func() bool) {
	s.Helper()
	for end := time.Now().Add(quiet); time.Now().Before(end); time.Sleep(pollEvery) {
		if happened() {
			s.Fatalf("it happened: %s", what)
		}
	}
}

// within waits for a signal.
func (s *scene) within(what string, signal <-chan struct{}) {
	s.Helper()
	select {
	case <-signal:
	case <-time.After(s.env.scaled(patience)):
		s.Fatalf("not within %v: %s", s.env.scaled(patience), what)
	}
}

// must ends the case on an error.
func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%v", err)
	}
}

// publish publishes a message for each body.
func (s *scene) publish(bodies ...string) {
	s.Helper()
	for _, body := range bodies {
		s.env.Publish(s.T, s.queue, &broker.Message{Body: []byte(body), ID: newID(body)})
	}
}

var ids atomic.Int64

func newID(prefix string) string { return fmt.Sprintf("%.20s-%d", prefix, ids.Add(1)) }

// numbered returns n bodies.
func numbered(prefix string, n int) []string {
	bodies := make([]string, n)
	for i := range bodies {
		bodies[i] = fmt.Sprintf("%s-%03d", prefix, i)
	}
	return bodies
}

// newCapture is a valid capture for the next attempt of a message of queue.
func newCapture(queue string, attempt int) *broker.Capture {
	now := time.Now().UTC().Truncate(time.Millisecond)
	return &broker.Capture{
		ID: newID("capture"), Attempt: attempt, Error: "of the suite", FirstFailedAt: now, FailedAt: now,
		Origin: broker.Origin{Key: queue, Queue: queue}, Host: "brokertest",
	}
}
