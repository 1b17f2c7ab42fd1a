package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/store"
)

const (
	openTimeout = 30 * time.Second

	// firstOpen is how long the first row of a new destination waits for it, and
	// holds up those of others in its lane.
	firstOpen = 2 * time.Second

	// firstAsk is the first wait after the broker said that a destination is
	// missing or forbidden: somebody has to do something first.
	firstAsk = time.Second

	// healthyAfter is how long an outlet must have lasted for its end to be a
	// first one again.
	healthyAfter = 10 * time.Second
)

// DestinationState is whether a relay can publish to a destination. The set is
// closed.
type DestinationState string

// The states of a destination.
const (
	DestinationOpening   DestinationState = "opening"   // not known yet
	DestinationOpen      DestinationState = "open"      // it is published to
	DestinationDown      DestinationState = "down"      // the broker does not answer
	DestinationMissing   DestinationState = "missing"   // it does not exist
	DestinationForbidden DestinationState = "forbidden" // this relay may not write there
	DestinationTripped   DestinationState = "tripped"   // it failed too many rows in a row, and is left alone for a while
	DestinationBlocked   DestinationState = "blocked"   // the broker accepts no publishes
)

// exit is the way out to one destination. It keeps an outlet open, opens it
// again when it ends, and says what can pass.
type exit struct {
	name  string
	relay *Relay
	woken func()        // told when rows may pass that could not before
	known chan struct{} // closed when the first try to open has ended

	mu      sync.Mutex
	outlet  broker.Outlet // nil while there is none
	state   DestinationState
	err     error // why there is none
	blocked string
	breaker breaker
	backoff backoff
	passed  bool // since the outlet was opened
}

// run keeps the exit open until ctx ends, and then closes it: what is under
// way until closing ends is waited for.
func (e *exit) run(ctx, closing context.Context) {
	tried := sync.OnceFunc(func() { close(e.known) })
	defer tried()
	for ctx.Err() == nil {
		start := e.relay.now()
		err := e.open(ctx)
		if err == nil {
			tried()
			err = e.serve(ctx, closing)
		}
		if ctx.Err() == nil {
			wait := e.failed(err, e.relay.now()-start)
			tried()
			pause(ctx, wait)
		}
	}
}

// await waits a moment for a destination that is new: its first row then goes
// on, or learns why it cannot.
func (e *exit) await(ctx context.Context) {
	select {
	case <-e.known:
		return
	default:
	}
	timer := time.NewTimer(firstOpen)
	defer timer.Stop()
	select {
	case <-e.known:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (e *exit) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	outlet, err := e.relay.outlets.OpenOutlet(ctx, e.name, e.notified)
	if err != nil {
		return err
	}
	e.mu.Lock()
	first := e.state != DestinationOpen
	e.outlet, e.state, e.err, e.passed = outlet, DestinationOpen, nil, false
	e.mu.Unlock()
	if first {
		e.relay.tell(RelayEvent{Kind: RelayOpened, Destination: e.name})
	}
	e.woken()
	return nil
}

// serve waits for the end of the outlet.
func (e *exit) serve(ctx, closing context.Context) error {
	e.mu.Lock()
	outlet := e.outlet
	e.mu.Unlock()
	select {
	case <-outlet.Done():
	case <-ctx.Done():
		_ = outlet.Close(closing) // what was cut off, each row is told
	}
	<-outlet.Done()
	return outlet.Err()
}

// failed notes why there is no outlet and returns how long to wait for the
// next try. Each new state is told once.
func (e *exit) failed(err error, lasted time.Duration) time.Duration {
	state, kind, first := DestinationDown, RelayClosed, firstWait
	switch {
	case errors.Is(err, broker.ErrMissing):
		state, kind, first = DestinationMissing, RelayMissing, firstAsk
	case errors.Is(err, broker.ErrPermission):
		state, kind, first = DestinationForbidden, RelayForbidden, firstAsk
	}
	e.mu.Lock()
	if lasted >= healthyAfter || e.passed {
		e.backoff.reset()
	}
	told := e.state == state
	unblocked := e.blocked != ""
	e.outlet, e.state, e.err, e.blocked, e.passed = nil, state, err, "", false
	wait := e.backoff.next(first, longWait)
	e.mu.Unlock()
	if unblocked {
		e.relay.blockChanged()
	}
	if !told {
		e.relay.tell(RelayEvent{Kind: kind, Destination: e.name, Wait: wait, Err: err})
	}
	return wait
}

// notified is called from the driver's goroutines.
func (e *exit) notified(n broker.Notice) {
	e.mu.Lock()
	switch n.Kind {
	case broker.NoticeBlocked:
		e.blocked = n.Text
		if e.blocked == "" {
			e.blocked = "the broker gave no reason"
		}
	case broker.NoticeUnblocked:
		e.blocked = ""
	}
	e.mu.Unlock()
	e.relay.blockChanged()
	e.woken()
}

// ready reports whether rows of this destination should be claimed.
func (e *exit) ready(now time.Duration) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.outlet != nil && e.breaker.ready(now)
}

// admit lets one row pass, or says why it cannot.
func (e *exit) admit(now time.Duration) (broker.Outlet, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.outlet == nil:
		return nil, &unsentError{class: stateClass[e.state], err: e.reason()}
	case !e.breaker.admit(now):
		return nil, &unsentError{err: fmt.Errorf("%q failed too many rows in a row", e.name)}
	}
	return e.outlet, nil
}

var stateClass = map[DestinationState]store.Class{
	DestinationMissing: store.ClassMissing, DestinationForbidden: store.ClassPermission,
}

func (e *exit) reason() error {
	if e.err != nil {
		return e.err
	}
	return fmt.Errorf("%q is not open yet", e.name)
}

// learn is told how the publication of a row ended that was let pass.
func (e *exit) learn(err error, now time.Duration) {
	what, class := judge(err)
	var ev RelayEvent
	e.mu.Lock()
	switch {
	case what == effectDone:
		e.passed = true
		if e.breaker.passed() {
			ev.Kind = RelayMended
		}
	case what == effectRefused, class == store.ClassUnrouted:
		if wait, opened := e.breaker.failed(now); opened {
			ev = RelayEvent{Kind: RelayTripped, Class: class, Wait: wait, Err: err}
		}
	default:
		e.breaker.returned()
	}
	e.mu.Unlock()
	if ev.Kind != "" {
		ev.Destination = e.name
		e.relay.tell(ev)
	}
}

func (e *exit) status(now time.Duration) DestinationStatus {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := DestinationStatus{Destination: e.name, State: e.state, Err: e.err}
	switch {
	case e.outlet == nil:
	case e.blocked != "":
		s.State, s.Err = DestinationBlocked, errors.New(e.blocked)
	case e.breaker.trips > 0:
		s.State, s.Wait = DestinationTripped, max(e.breaker.until-now, 0)
	}
	return s
}
