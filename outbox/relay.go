package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/store"
)

// Relay publishes the rows of an outbox. Any number of them may run on one
// outbox, each with the same settings. Its methods may be called concurrently.
type Relay struct {
	cfg     RelayConfig
	outlets broker.Outlets
	base    time.Time // of the relay's own clock, which is monotonic
	exits   *exits
	books   books
	ran     atomic.Bool
	gate    *gate

	// payload is how many bytes a payload had lately, on average.
	payload atomic.Int64

	mu      sync.Mutex
	view    view
	trouble error // of the database; nil when it answers
}

// NewRelay makes a relay and asks nothing of anybody yet. Its error names each
// setting that is wrong, its bound and what it is.
func NewRelay(cfg RelayConfig) (*Relay, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	r := &Relay{cfg: cfg, base: time.Now(), gate: newGate()}
	if outlets, ok := cfg.Broker.(broker.Outlets); ok {
		r.outlets = outlets
	} else {
		r.outlets = adapter{cfg.Broker}
		r.cfg.Default.InFlight = 1
		for name, route := range r.cfg.Routes {
			route.InFlight = 1
			r.cfg.Routes[name] = route
		}
	}
	r.exits = newExits(r)
	return r, nil
}

// ErrRan is what a second [Relay.Run] returns.
var ErrRan = errors.New("relay: it has run before: make a new one")

// Run publishes until ctx ends and returns nil then. It waits for what is under
// way for up to Grace, records it, and gives its lanes to the others.
//
// A broker or a database that does not answer is waited for, also at the
// start and for as long as it takes. Run returns an error only before it has
// published anything: [store.ErrSchema], [store.ErrRefused] or [store.ErrConfig]
// where the outbox can never work as it is, and [ErrRan].
func (r *Relay) Run(ctx context.Context) error {
	if r.ran.Swap(true) {
		return ErrRan
	}
	defer r.exits.close()
	if err := r.check(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	newDispatcher(r).run(ctx)
	return nil
}

// check waits until the database answers, and returns an error when its answer
// is one that waiting does not change.
func (r *Relay) check(ctx context.Context) error {
	var b backoff
	for {
		err := r.call(ctx, r.cfg.Outbox.Check)
		switch {
		case err == nil, ctx.Err() != nil:
			return nil
		case errors.Is(err, store.ErrSchema), errors.Is(err, store.ErrRefused), errors.Is(err, store.ErrConfig):
			return fmt.Errorf("relay: %w", err)
		}
		pause(ctx, b.next(firstWait, longWait))
	}
}

// now is the time on the relay's own clock, which no step of a wall clock
// touches.
func (r *Relay) now() time.Duration { return time.Since(r.base) }

// The least that a call of the database may take: a slow answer is better than
// none, however short the lease is.
const (
	leastCall = 2 * time.Second
	leastWork = 5 * time.Second
)

// call asks the database and notes whether it answers. It leaves time for
// another beat within the lease.
func (r *Relay) call(ctx context.Context, ask func(context.Context) error) error {
	return r.callWithin(ctx, max(r.cfg.Lease/3, leastCall), ask)
}

// callForWork is for what nothing but the work on one lane waits for.
func (r *Relay) callForWork(ctx context.Context, ask func(context.Context) error) error {
	return r.callWithin(ctx, max(r.cfg.Lease, leastWork), ask)
}

func (r *Relay) callWithin(ctx context.Context, d time.Duration, ask func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err := ask(bounded)
	if ctx.Err() == nil {
		r.noteDatabase(err)
	}
	return err
}

// noteDatabase tells of the first failure in a row, and of the end of them.
func (r *Relay) noteDatabase(err error) {
	r.mu.Lock()
	was := r.trouble
	r.trouble = err
	r.mu.Unlock()
	switch {
	case err != nil && was == nil:
		r.tell(RelayEvent{Kind: RelayDatabaseLost, Err: err})
	case err == nil && was != nil:
		r.tell(RelayEvent{Kind: RelayDatabaseBack})
	}
}

// blockChanged tells when the broker begins or ends to block.
func (r *Relay) blockChanged() {
	reason := r.exits.blocked()
	blocked := reason != ""
	if !r.gate.set(blocked) {
		return
	}
	kind := RelayUnblocked
	if blocked {
		kind = RelayBlocked
	}
	r.tell(RelayEvent{Kind: kind, Text: reason})
}

// batchBytes is what the rows of one lane may weigh in memory.
const batchBytes = 8 << 20

// limit is how many rows of a lane to claim.
func (r *Relay) limit() int {
	return int(min(int64(r.cfg.Batch), max(1, batchBytes/max(r.payload.Load(), 1))))
}

// weighed remembers the payloads of a batch. Large ones count at once, small
// ones bit by bit.
func (r *Relay) weighed(rows []store.Row) {
	if len(rows) == 0 {
		return
	}
	bytes := 0
	for i := range rows {
		bytes += len(rows[i].Payload)
	}
	mean := int64(bytes / len(rows))
	r.payload.Store(max(mean, (3*r.payload.Load()+mean)/4))
}
