package outbox

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// exits are the ways out to all destinations that a relay has met.
type exits struct {
	relay   *Relay
	ctx     context.Context
	stop    context.CancelFunc
	closing context.Context // ends when nothing under way is waited for any more
	cut     context.CancelFunc
	wake    chan struct{}
	running sync.WaitGroup

	mu  sync.Mutex
	all map[string]*exit
}

func newExits(r *Relay) *exits {
	x := &exits{relay: r, wake: make(chan struct{}, 1), all: map[string]*exit{}}
	x.ctx, x.stop = context.WithCancel(context.Background())
	x.closing, x.cut = context.WithCancel(context.Background())
	return x
}

// get returns the exit to a destination. That of a new one begins to open.
func (x *exits) get(destination string) *exit {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.all[destination]
	if e == nil {
		e = &exit{name: destination, relay: x.relay, woken: x.poke, known: make(chan struct{}), state: DestinationOpening}
		x.all[destination] = e
		x.running.Go(func() { e.run(x.ctx, x.closing) })
	}
	return e
}

// poke makes the relay look for rows now.
func (x *exits) poke() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// skip names the destinations of which no row should be claimed now.
func (x *exits) skip() (names []string) {
	now := x.relay.now()
	for _, e := range x.list() {
		if !e.ready(now) {
			names = append(names, e.name)
		}
	}
	return names
}

// blocked is the broker's reason for accepting no publishes, or empty. A block
// is of the connection that all outlets share.
func (x *exits) blocked() string {
	for _, e := range x.list() {
		e.mu.Lock()
		reason := e.blocked
		e.mu.Unlock()
		if reason != "" {
			return reason
		}
	}
	return ""
}

func (x *exits) status() (all []DestinationStatus) {
	now := x.relay.now()
	for _, e := range x.list() {
		all = append(all, e.status(now))
	}
	return all
}

// list is all of them by their names.
func (x *exits) list() []*exit {
	x.mu.Lock()
	list := make([]*exit, 0, len(x.all))
	for _, e := range x.all {
		list = append(list, e)
	}
	x.mu.Unlock()
	slices.SortFunc(list, func(a, b *exit) int { return strings.Compare(a.name, b.name) })
	return list
}

// close ends all of them. What is not confirmed is unknown.
func (x *exits) close() {
	x.cut()
	x.stop()
	x.running.Wait()
}
