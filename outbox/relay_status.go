package outbox

import (
	"sync/atomic"
	"time"
)

// RelayState is what a relay as a whole does. The set is closed.
type RelayState string

// The states of a relay.
const (
	RelayStarting RelayState = "starting" // it has not beaten yet
	RelayRunning  RelayState = "running"
	RelayIdle     RelayState = "idle"             // there is nothing to do
	RelayHeldUp   RelayState = "blocked"          // the broker accepts no publishes
	RelayDatabase RelayState = "database_trouble" // the database does not answer as it should
	RelayOver     RelayState = "stopped"
)

// RelayStatus is a relay at one moment.
type RelayStatus struct {
	ID    string // of this start of the relay
	Name  string
	State RelayState
	Err   error // of the database, or the broker's reason for a block

	// Lanes is how many it holds, Busy how many of them are being published,
	// Relays how many relays are alive, this one included.
	Lanes  int
	Busy   int
	Relays int

	Destinations []DestinationStatus
	Books        RelayBooks
}

// DestinationStatus is a destination as this relay sees it.
type DestinationStatus struct {
	Destination string
	State       DestinationState
	Err         error         // why it is not open
	Wait        time.Duration // until it is tried again, of one that is tripped
}

// RelayBooks are counts of rows since the start of the relay. They balance at
// any time: Claimed = Published + Failed + Returned + Left + Fenced + InFlight.
type RelayBooks struct {
	Claimed   int64 `json:"claimed"`   // taken from the outbox, however often
	Published int64 `json:"published"` // recorded as published
	Failed    int64 `json:"failed"`    // recorded as failed
	Returned  int64 `json:"returned"`  // given back to be published later
	Left      int64 `json:"left"`      // of unknown outcome, left for a human
	Fenced    int64 `json:"fenced"`    // of which somebody else's word holds
	InFlight  int64 `json:"in_flight"`

	Repeats  int64 `json:"repeats"`  // claimed of which the broker may have had an earlier publication
	Refusals int64 `json:"refusals"` // refused by the broker, to be tried again or not
	Unknowns int64 `json:"unknowns"` // publications that ended without an answer
}

// books are the counts as they are kept: the rows in flight are what is left.
type books struct {
	claimed, published, failed, returned, left, fenced, repeats, refusals, unknowns atomic.Int64
}

// read reads what a row becomes before what it is, so that none seems to be
// nowhere.
func (b *books) read() RelayBooks {
	n := RelayBooks{
		Published: b.published.Load(), Failed: b.failed.Load(), Returned: b.returned.Load(),
		Left: b.left.Load(), Fenced: b.fenced.Load(),
		Repeats: b.repeats.Load(), Refusals: b.refusals.Load(), Unknowns: b.unknowns.Load(),
	}
	n.Claimed = b.claimed.Load()
	n.InFlight = n.Claimed - n.Published - n.Failed - n.Returned - n.Left - n.Fenced
	return n
}

// view is what the dispatcher shows of itself.
type view struct {
	id                  string
	lanes, busy, relays int
	idle, stopped       bool
}

// Status says what the relay does. It asks nobody.
func (r *Relay) Status() RelayStatus {
	r.mu.Lock()
	v, trouble := r.view, r.trouble
	r.mu.Unlock()
	s := RelayStatus{
		ID: v.id, Name: r.cfg.Name, Lanes: v.lanes, Busy: v.busy, Relays: v.relays,
		Destinations: r.exits.status(), Books: r.books.read(),
	}
	s.State, s.Err = r.state(v, trouble)
	return s
}

func (r *Relay) state(v view, trouble error) (RelayState, error) {
	blocked := r.exits.blocked()
	switch {
	case v.stopped:
		return RelayOver, nil
	case trouble != nil:
		return RelayDatabase, trouble
	case blocked != "":
		return RelayHeldUp, errorText(blocked)
	case v.id == "":
		return RelayStarting, nil
	case v.idle:
		return RelayIdle, nil
	default:
		return RelayRunning, nil
	}
}

// errorText is a broker's reason as an error.
type errorText string

func (t errorText) Error() string { return string(t) }
