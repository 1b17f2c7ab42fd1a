package holdfast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// handle is what consumers and responders have in common.
type handle func(ctx context.Context, m *Message) (*Reply, error)

// engine is what a Consumer and a Responder are made of: it keeps one session
// open for as long as Run runs, hands its deliveries to the handler, and
// settles them. What belongs to one session is a stint.
type engine struct {
	broker  broker.Broker
	cfg     ConsumerConfig
	replies bool
	handle  handle

	brake  *braking // nil where there is none
	ledger ledger
	status status
	begun  atomic.Bool
	doubts sync.Once // the findings were told

	// slots holds the numbers of the free handler slots, over all stints: a
	// handler that outlives its session still counts against Concurrency.
	slots  chan int
	starts []atomic.Int64 // by slot: when its handler began, in Unix ns; 0 when free

	// work is the context of the handlers. It ends with the grace period, not
	// with Run's context.
	work context.Context
	wg   sync.WaitGroup
}

func newEngine(b broker.Broker, cfg ConsumerConfig, replies bool, h handle) *engine {
	e := &engine{
		broker: b, cfg: cfg, replies: replies, handle: h,
		slots:  make(chan int, cfg.Concurrency),
		starts: make([]atomic.Int64, cfg.Concurrency),
	}
	if cfg.Brake.on() {
		e.brake = newBraking(cfg.Brake)
	}
	for i := range cfg.Concurrency {
		e.slots <- i
	}
	e.status.set(StateNew, nil)
	return e
}

// Books returns the consumer's counts. They balance.
func (e *engine) Books() Books { return e.ledger.read() }

// Health returns what the consumer knows of itself.
func (e *engine) Health() Health {
	h := e.status.read()
	h.Queue, h.Books = e.cfg.Queue, e.ledger.read()
	h.Braked, h.BrakedSince = e.brake.state()
	return h
}

// Run consumes until ctx ends. It connects, and connects again for as long as
// it takes, from the first time on. Then it stops taking messages, lets the
// running handlers finish within [ConsumerConfig.Grace], settles what they
// did, gives the rest back to the broker and returns nil.
//
// Before the first attachment, what waiting cannot mend (refused credentials
// or permissions, a queue that is missing or that has other arguments) is
// returned at once; failing to start is better than failing at night. After
// it, everything is tried again, without end.
//
// Run may be called once. It returns an error when handlers still ran after
// the grace period; their messages went back to the broker.
func (e *engine) Run(ctx context.Context) error {
	if !e.begun.CompareAndSwap(false, true) {
		return errors.New("holdfast: Run was called before; make a new consumer")
	}
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	e.work = work
	err := e.supervise(ctx, cut)
	e.status.set(StateStopped, err)
	e.event(Event{Kind: EventStopped, Err: err})
	if err != nil {
		return fmt.Errorf("holdfast: consumer of %q: %w", e.cfg.Queue, err)
	}
	return nil
}

// supervise keeps a stint going until ctx ends.
func (e *engine) supervise(ctx context.Context, cut context.CancelFunc) error {
	var wait backoff
	e.status.set(StateConnecting, nil)
	for {
		d, err := e.attach(ctx, cut, &wait)
		if ctx.Err() != nil {
			return e.finish()
		}
		if e.status.attachedOnce() {
			e.status.set(StateReconnecting, err)
		} else if broker.Permanent(err) {
			return err
		} else {
			e.status.set(StateConnecting, err)
		}
		e.event(Event{Kind: EventDetached, Err: err, Wait: d})
		if !sleep(ctx, d) {
			return e.finish()
		}
	}
}

// attach opens one session, if it can, and serves it to its end. It returns
// how long to wait for the next.
func (e *engine) attach(ctx context.Context, cut context.CancelFunc, wait *backoff) (time.Duration, error) {
	st := &stint{engine: e, over: make(chan error, 1), held: make(chan struct{}, 1)}
	session, err := e.broker.Open(ctx, e.subscription(st.notice))
	if err != nil {
		return wait.notOpened(err), err
	}
	st.session, st.caps = session, session.Capabilities()
	began := time.Now()
	err = st.serve(ctx, cut)
	if err != nil && ctx.Err() != nil {
		e.event(Event{Kind: EventWarning, Err: err, Text: "the session was not closed in order; unsettled messages go back to the broker"})
	}
	return wait.ended(err, time.Since(began)), err
}

func (e *engine) subscription(notify func(broker.Notice)) broker.Subscription {
	rungs := slices.Clone(e.cfg.Policy.Ladder)
	slices.Sort(rungs)
	return broker.Subscription{
		Queue: e.cfg.Queue, Rungs: slices.Compact(rungs), Hold: e.cfg.Policy.Hold,
		Replies: e.replies, Name: e.cfg.Name, Notify: notify,
	}
}

// finish waits, within bounds, for what still runs.
func (e *engine) finish() error {
	done := make(chan struct{})
	go func() { e.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-time.After(cutWait):
		return fmt.Errorf("%d handlers still run after the grace period; their messages went back to the broker", e.running())
	}
}

func (e *engine) running() int { return cap(e.slots) - len(e.slots) }

func (e *engine) event(ev Event) {
	if e.cfg.Observer == nil {
		return
	}
	ev.Time, ev.Queue = time.Now(), e.cfg.Queue
	observe(e.cfg.Observer, ev)
}

// sleep waits for d and reports whether it did: false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
