package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
)

const queue = "orders"

// trial is a consumer on an in-memory broker, inside a bubble of fake time.
type trial struct {
	*testing.T
	broker   *membroker.Broker
	consumer *holdfast.Consumer
	ended    chan error
	cancel   context.CancelFunc

	mu     sync.Mutex
	events []holdfast.Event
}

// try runs f with a consumer of the handler, and checks at the end that it
// stops in order and that the books balance.
func try(t *testing.T, cfg holdfast.ConsumerConfig, f func(*trial), opts ...membroker.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr := &trial{T: t, broker: membroker.New(opts...), ended: make(chan error, 1)}
		tr.broker.DeclareQueue(queue)
		cfg.Queue = queue
		if cfg.Observer == nil {
			cfg.Observer = holdfast.ObserverFunc(tr.observe)
		}
		c, err := holdfast.NewConsumer(tr.broker, cfg)
		if err != nil {
			t.Fatal(err)
		}
		tr.consumer = c
		ctx, cancel := context.WithCancel(t.Context())
		tr.cancel = cancel
		go func() { tr.ended <- c.Run(ctx) }()
		synctest.Wait()
		f(tr)
		cancel()
		if err := <-tr.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if b := c.Books(); !b.Balanced() || b.InFlight != 0 {
			t.Errorf("the books do not balance: %+v", b)
		}
		_ = tr.broker.Close()
	})
}

func (tr *trial) observe(e holdfast.Event) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.events = append(tr.events, e)
}

func (tr *trial) count(kind holdfast.EventKind) (n int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, e := range tr.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func (tr *trial) publish(bodies ...string) {
	tr.Helper()
	for _, body := range bodies {
		m := &broker.Message{ID: body, Body: []byte(body)}
		if err := tr.broker.Publish(tr.Context(), broker.Target{Queue: queue}, m); err != nil {
			tr.Fatal(err)
		}
	}
	synctest.Wait()
}

// pass lets fake time pass and everything settle.
func (tr *trial) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (tr *trial) parked() []broker.Stored { return tr.broker.Messages(queue + ".parked") }

func short(change ...func(*holdfast.Policy)) holdfast.Policy {
	p := holdfast.Policy{Ladder: []time.Duration{time.Second}}
	for _, c := range change {
		c(&p)
	}
	return p
}

func TestAHandlerThatEndsItsGoroutineSilencesNothing(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 4} {
		cfg := holdfast.ConsumerConfig{Policy: short(), Concurrency: concurrency, Handler: func(_ context.Context, m *holdfast.Message) error {
			if string(m.Body) == "exit" {
				runtime.Goexit()
			}
			return nil
		}}
		try(t, cfg, func(tr *trial) {
			tr.publish("exit", "good", "better", "exit", "a", "b", "c")
			tr.pass(time.Minute)
			if b := tr.consumer.Books(); b.Done != 5 || b.Delayed != 2 || b.Parked != 2 {
				tr.Errorf("books %+v, want 5 done, 2 delayed, 2 parked", b)
			}
			if !tr.consumer.Health().Ready() {
				tr.Errorf("not attached: %+v", tr.consumer.Health())
			}
		})
	}
}

// typedNil is an error whose methods panic.
type typedNil struct{ text string }

func (e *typedNil) Error() string { return e.text }

func TestErrorsThatPanicAndListenersThatPanic(t *testing.T) {
	t.Parallel()
	var seen atomic.Int32
	cfg := holdfast.ConsumerConfig{
		Policy: short(func(p *holdfast.Policy) { p.Classify = func(error) error { panic("classifier") } }),
		Handler: func(_ context.Context, m *holdfast.Message) error {
			switch string(m.Body) {
			case "nil error":
				var e *typedNil
				return e
			case "panic":
				panic("handler")
			case "error panic":
				panic(errors.New("handler"))
			default:
				return errors.New("plain")
			}
		},
		Observer: holdfast.ObserverFunc(func(holdfast.Event) { seen.Add(1); panic("observer") }),
	}
	try(t, cfg, func(tr *trial) {
		tr.publish("nil error", "panic", "error panic", "plain")
		tr.pass(10 * time.Second)
		if p := tr.parked(); len(p) != 4 {
			tr.Fatalf("%d parked, want 4: %+v", len(p), tr.consumer.Books())
		}
		for _, p := range tr.parked() {
			if p.Capture.Reason != holdfast.ReasonExhausted || p.Capture.Error == "" {
				tr.Errorf("%s is parked as %+v", p.Message.Body, p.Capture)
			}
			if p.Message.ID == "panic" && !strings.Contains(p.Capture.Error, "engine_test.go") {
				tr.Errorf("a panic is parked without its stack: %s", p.Capture.Error)
			}
		}
		if seen.Load() == 0 {
			tr.Error("the observer was not called")
		}
	})
}

func TestARefusedCopyIsTriedAgainWhileOthersGoOn(t *testing.T) {
	t.Parallel()
	cfg := holdfast.ConsumerConfig{Handler: func(_ context.Context, m *holdfast.Message) error {
		if string(m.Body) == "bad" {
			return holdfast.Park(errors.New("bad"))
		}
		return nil
	}}
	try(t, cfg, func(tr *trial) {
		tr.publish("warm", "up")
		tr.broker.RefuseCopies(3)
		tr.publish("bad", "good", "better")
		if h := tr.consumer.Health(); h.Stuck != 1 || h.StuckErr == "" || !h.Ready() {
			tr.Errorf("health while a copy is refused: %+v", h)
		}
		if b := tr.consumer.Books(); b.Done != 4 || b.InFlight != 1 {
			tr.Errorf("books while a copy is refused: %+v", b)
		}
		tr.pass(time.Minute)
		if b := tr.consumer.Books(); b.Parked != 1 || b.Received != 5 {
			tr.Errorf("books afterwards: %+v", b)
		}
		if n := tr.count(holdfast.EventUnsettled); n != 3 {
			tr.Errorf("%d unsettled events, want 3", n)
		}
		if h := tr.consumer.Health(); h.Stuck != 0 || h.StuckErr != "" {
			tr.Errorf("health afterwards: %+v", h)
		}
	})
}

func TestAMissingParkingPlaceIsMadeAgain(t *testing.T) {
	t.Parallel()
	cfg := holdfast.ConsumerConfig{Handler: func(context.Context, *holdfast.Message) error {
		return holdfast.Park(errors.New("bad"))
	}}
	try(t, cfg, func(tr *trial) {
		tr.broker.DeleteQueue(queue + ".parked")
		tr.publish("bad")
		tr.pass(5 * time.Second)
		if p := tr.parked(); len(p) != 1 {
			tr.Errorf("%d parked, want 1", len(p))
		}
		if n := tr.count(holdfast.EventDetached); n != 0 {
			tr.Errorf("the session ended %d times for it", n)
		}
	})
}

func TestAStuckMessageDoesNotHoldUpTheStop(t *testing.T) {
	t.Parallel()
	cfg := holdfast.ConsumerConfig{Handler: func(context.Context, *holdfast.Message) error {
		return holdfast.Park(errors.New("bad"))
	}}
	try(t, cfg, func(tr *trial) {
		tr.broker.RefuseCopies(1000)
		tr.publish("bad")
		began := time.Now()
		tr.cancel()
		tr.ended <- <-tr.ended
		if took := time.Since(began); took > time.Second {
			tr.Errorf("the stop took %v", took)
		}
		if n := len(tr.broker.Messages(queue)); n != 1 {
			tr.Errorf("%d messages in the queue, want the one that could not be parked", n)
		}
	})
}

// TestAStuckMessageStopsNobodyElse: the first message of all cannot be parked,
// while the consumer still takes one at a time.
func TestAStuckMessageStopsNobodyElse(t *testing.T) {
	t.Parallel()
	cfg := holdfast.ConsumerConfig{Prefetch: 10, Handler: func(_ context.Context, m *holdfast.Message) error {
		if string(m.Body) == "bad" {
			return holdfast.Park(errors.New("bad"))
		}
		return nil
	}}
	try(t, cfg, func(tr *trial) {
		tr.broker.RefuseCopies(1000)
		tr.publish("bad", "good 1", "good 2")
		tr.pass(time.Second)
		if b := tr.consumer.Books(); b.Done != 2 || b.InFlight != 1 {
			tr.Errorf("books: %+v", b)
		}
		tr.broker.RefuseCopies(0)
		tr.pass(time.Minute)
		if b := tr.consumer.Books(); b.Done != 2 || b.Parked != 1 {
			tr.Errorf("books: %+v", b)
		}
	})
}

func TestSuspectsRunAlone(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]membroker.Option{
		"counts, free release": nil,
		"counts":               {membroker.WithoutFreeRelease},
		"no counts":            {membroker.WithoutCounts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var crowd crowd
			cfg := holdfast.ConsumerConfig{Concurrency: 8, Prefetch: 50, Handler: crowd.handle}
			try(t, cfg, func(tr *trial) {
				crowd.gate = make(chan struct{})
				tr.publish("warm", "up", "gated 1", "gated 2") // the consumer takes the full prefetch now
				taken := tr.peerDies(10, 40)
				close(crowd.gate)
				tr.pass(time.Minute)
				if b := tr.consumer.Books(); b.Done != 44 {
					tr.Errorf("books: %+v", b)
				}
				if int(crowd.alone.Load()) != taken && opts == nil {
					tr.Errorf("%d of %d suspects ran alone", crowd.alone.Load(), taken)
				}
				if tr.count(holdfast.EventIsolated) == 0 {
					tr.Error("nobody was isolated")
				}
				if crowd.most.Load() < 2 {
					tr.Error("nothing ever ran at the same time: the test shows nothing")
				}
			}, opts...)
		})
	}
}

// crowd is a handler that sees who runs beside whom.
type crowd struct {
	gate                 chan struct{}
	running, alone, most atomic.Int32
}

func (c *crowd) handle(_ context.Context, m *holdfast.Message) error {
	n := c.running.Add(1)
	defer c.running.Add(-1)
	c.most.Store(max(c.most.Load(), n))
	if m.Redelivered && n == 1 {
		c.alone.Add(1)
	}
	if strings.HasPrefix(m.ID, "gated") {
		<-c.gate
	}
	return nil
}

// peerDies publishes messages, lets another consumer take up to prefetch of
// them, and ends it as a kill would. It returns how many it had.
func (tr *trial) peerDies(prefetch, messages int) (taken int) {
	tr.Helper()
	other := tr.broker.Peer()
	session, err := other.Open(tr.Context(), broker.Subscription{Queue: queue, Hold: time.Minute})
	if err != nil {
		tr.Fatal(err)
	}
	if err := session.Consume(tr.Context(), prefetch); err != nil {
		tr.Fatal(err)
	}
	for i := range messages {
		tr.publish(fmt.Sprint("m", i))
	}
	for _, ok := session.TryReceive(); ok; _, ok = session.TryReceive() {
		taken++
	}
	if taken == 0 {
		tr.Fatal("the other consumer got nothing")
	}
	other.Cut()
	synctest.Wait()
	return taken
}

func TestStopFinishesWhatRunsAndSpendsNothing(t *testing.T) {
	t.Parallel()
	var release chan struct{}
	cfg := holdfast.ConsumerConfig{
		Grace: 5 * time.Second, Concurrency: 2, Policy: short(),
		Handler: func(ctx context.Context, m *holdfast.Message) error {
			if string(m.Body) == "warm" {
				return nil
			}
			if string(m.Body) == "slow" {
				<-release
				return nil
			}
			<-ctx.Done() // cut off at the end of the grace period
			return ctx.Err()
		},
	}
	try(t, cfg, func(tr *trial) {
		release = make(chan struct{})
		tr.publish("warm", "slow", "stubborn", "untouched")
		tr.cancel()
		synctest.Wait()
		if h := tr.consumer.Health(); h.State != holdfast.StateStopping {
			tr.Errorf("state %v, want stopping", h.State)
		}
		close(release)
		tr.pass(10 * time.Second)
		b := tr.consumer.Books()
		if b.Done != 2 || b.Delayed != 0 || b.Parked != 0 {
			tr.Errorf("books: %+v", b)
		}
		left := tr.broker.Messages(queue)
		if len(left) != 2 {
			tr.Fatalf("%d messages left, want 2", len(left))
		}
		for _, m := range left {
			if m.Capture != nil {
				tr.Errorf("%s was charged: %+v", m.Message.ID, m.Capture)
			}
		}
		if tr.count(holdfast.EventGraceExpired) != 1 {
			tr.Error("nobody was told that the grace period was over")
		}
	})
}

func TestNothingIsBegunAfterTheCallToStop(t *testing.T) {
	t.Parallel()
	var release chan struct{}
	cfg := holdfast.ConsumerConfig{Handler: func(_ context.Context, m *holdfast.Message) error {
		if m.ID == "slow" {
			<-release
		}
		return nil
	}}
	try(t, cfg, func(tr *trial) {
		release = make(chan struct{})
		tr.publish("warm", "up", "slow", "a", "b", "c", "d")
		tr.cancel()
		synctest.Wait()
		close(release)
		tr.pass(time.Second)
		if b := tr.consumer.Books(); b.Done != 3 {
			tr.Errorf("books: %+v", b)
		}
		if n := len(tr.broker.Messages(queue)); n != 4 {
			tr.Errorf("%d messages left, want 4", n)
		}
	})
}

func TestPermanentErrorsEndTheStart(t *testing.T) {
	t.Parallel()
	for _, class := range []error{broker.ErrCredentials, broker.ErrPermission, broker.ErrMismatch, broker.ErrMissing} {
		synctest.Test(t, func(t *testing.T) {
			b := membroker.New()
			defer b.Close()
			b.DeclareQueue(queue)
			b.RefuseClients(class)
			c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{Queue: queue, Handler: func(context.Context, *holdfast.Message) error { return nil }})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context()); !errors.Is(err, class) || !strings.Contains(err.Error(), queue) {
				t.Errorf("Run returned %v, want %v", err, class)
			}
			if err := c.Run(t.Context()); err == nil {
				t.Error("a second Run was accepted")
			}
		})
	}
}

func TestWaitsForABrokerThatIsDownAtTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := membroker.New()
		b.DeclareQueue(queue)
		b.Stop()
		c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{Queue: queue, Handler: func(context.Context, *holdfast.Message) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		<-time.After(time.Hour)
		if h := c.Health(); h.State != holdfast.StateConnecting || h.Err == "" {
			t.Errorf("health: %+v", h)
		}
		b.Start()
		<-time.After(4 * time.Second)
		if !c.Health().Ready() {
			t.Errorf("not attached 4 s after the broker was up: %+v", c.Health())
		}
		b.RefuseClients(broker.ErrCredentials)
		b.Cut()
		<-time.After(time.Minute)
		if h := c.Health(); h.State != holdfast.StateReconnecting || !h.Credentials {
			t.Errorf("health with refused credentials: %+v", h)
		}
		b.RefuseClients(nil)
		<-time.After(31 * time.Second)
		if !c.Health().Ready() {
			t.Errorf("not attached after the credentials were good again: %+v", c.Health())
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = b.Close()
	})
}

func TestAMessageThatEndsEverySessionIsNoHotLoop(t *testing.T) {
	t.Parallel()
	var tr *trial
	var times []time.Time
	cfg := holdfast.ConsumerConfig{
		Policy: short(func(p *holdfast.Policy) { p.Crashes = 100 }),
		Handler: func(context.Context, *holdfast.Message) error {
			times = append(times, time.Now())
			tr.broker.Cut()
			return nil
		},
	}
	try(t, cfg, func(inside *trial) {
		tr = inside
		tr.publish("poison")
		tr.pass(2 * time.Minute)
		for i := range len(times) - 3 {
			if span := times[i+3].Sub(times[i]); span < time.Second {
				tr.Errorf("three redeliveries within %v", span)
			}
		}
		if len(times) < 5 || len(times) > 60 {
			tr.Errorf("%d deliveries in two minutes", len(times))
		}
	})
}

func TestAConsumerThatTheBrokerForgotAttachesAgain(t *testing.T) {
	t.Parallel()
	cfg := holdfast.ConsumerConfig{Handler: func(context.Context, *holdfast.Message) error { return nil }}
	try(t, cfg, func(tr *trial) {
		tr.broker.DropConsumers(queue)
		tr.publish("lonely")
		if b := tr.consumer.Books(); b.Done != 0 {
			tr.Fatal("the consumer was not forgotten")
		}
		tr.pass(time.Minute)
		if b := tr.consumer.Books(); b.Done != 1 {
			tr.Errorf("books: %+v", b)
		}
		if tr.count(holdfast.EventDetached) != 1 || tr.count(holdfast.EventAttached) != 2 {
			tr.Errorf("%d detached, %d attached", tr.count(holdfast.EventDetached), tr.count(holdfast.EventAttached))
		}
	})
}

func TestConcurrencyHoldsOverSessions(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int32
	cfg := holdfast.ConsumerConfig{Concurrency: 2, Handler: func(_ context.Context, m *holdfast.Message) error {
		n := running.Add(1)
		defer running.Add(-1)
		most.Store(max(most.Load(), n))
		if !m.Redelivered {
			<-time.After(30 * time.Second) // outlives its session
		}
		return nil
	}}
	try(t, cfg, func(tr *trial) {
		tr.publish("a", "b", "c", "d")
		tr.pass(31 * time.Second) // a is done: the consumer takes the full prefetch
		tr.broker.Cut()
		tr.pass(10 * time.Second)
		if !tr.consumer.Health().Ready() {
			tr.Error("not attached while old handlers run")
		}
		tr.pass(5 * time.Minute)
		if most.Load() > 2 {
			tr.Errorf("%d handlers ran at once, want at most 2", most.Load())
		}
		if n := len(tr.broker.Messages(queue)); n != 0 {
			tr.Errorf("%d messages left", n)
		}
	})
}

func TestTriesHappenInsideTheAttempt(t *testing.T) {
	t.Parallel()
	var tries []string
	cfg := holdfast.ConsumerConfig{
		Policy: short(func(p *holdfast.Policy) { p.Tries = 3 }),
		Handler: func(_ context.Context, m *holdfast.Message) error {
			tries = append(tries, fmt.Sprintf("%d.%d", m.Attempt, m.Try))
			return errors.New("no")
		},
	}
	try(t, cfg, func(tr *trial) {
		tr.publish("x")
		tr.pass(time.Minute)
		if got, want := strings.Join(tries, " "), "1.1 1.2 1.3 2.1 2.2 2.3"; got != want {
			tr.Errorf("tries %q, want %q", got, want)
		}
	})
}

func TestALateHandlerIsAPlainError(t *testing.T) {
	t.Parallel()
	cfg := holdfast.ConsumerConfig{
		Policy: short(func(p *holdfast.Policy) {
			p.Timeout = time.Second
			p.Classify = func(err error) error { return holdfast.Park(err) }
		}),
		Handler: func(ctx context.Context, m *holdfast.Message) error {
			if m.Attempt == 2 {
				return nil
			}
			<-ctx.Done()
			return context.Cause(ctx)
		},
	}
	try(t, cfg, func(tr *trial) {
		tr.publish("x")
		tr.pass(time.Minute)
		if b := tr.consumer.Books(); b.Delayed != 1 || b.Done != 1 {
			tr.Errorf("books: %+v", b)
		}
	})
}

func TestConfigurationIsCheckedWhole(t *testing.T) {
	t.Parallel()
	_, err := holdfast.NewConsumer(nil, holdfast.ConsumerConfig{Prefetch: 70000, Concurrency: -1, Grace: 2 * time.Hour, Policy: holdfast.Policy{Laps: 1000}})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"broker must not be nil", "Queue must be named", "Handler must not be nil", "Prefetch must be 1 to 65535, not 70000", "Concurrency must be", "Grace must be at most 1h0m0s", "Laps must be 1 to 100, not 1000"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}
