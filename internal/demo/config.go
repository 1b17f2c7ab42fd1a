package demo

import (
	"fmt"
	"time"
)

// The number of orders. More than the most would take longer than a minute.
const (
	DefaultOrders = 300
	MaxOrders     = 20_000
)

// Config says how the story is played.
type Config struct {
	// Orders is how many orders the shop sends: 1 to 20,000. 0 means 300, or
	// as many as the ledger says if there is one already.
	Orders int

	// Ledger is the path of the ledger. It is made if it is not there.
	Ledger string

	// Pace is how fast the story is told.
	Pace Pace

	// Told is given the first sentence of each act, in order. It may be nil
	// and must not block.
	Told func(sentence string)
}

// Pace is how fast the story is told. The zero value is as fast as can be.
type Pace struct {
	// Arrivals is the time over which the orders come in, and Replay that over
	// which parked orders are replayed.
	Arrivals time.Duration
	Replay   time.Duration

	// Work is what charging one order takes.
	Work time.Duration

	// Outage is how long billing is down, from the first order that it fails.
	Outage time.Duration

	// Pause is the time to read what was parked before it is replayed.
	Pause time.Duration
}

// Watched is the pace for a person who watches.
func Watched() Pace {
	return Pace{
		Arrivals: 6 * time.Second, Replay: 2 * time.Second, Work: 20 * time.Millisecond,
		Outage: 4 * time.Second, Pause: 2500 * time.Millisecond,
	}
}

// Unwatched is the pace for a script: only what must take time does.
func Unwatched() Pace { return Pace{Outage: 1500 * time.Millisecond} }

func (c Config) validate() error {
	if c.Orders < 0 || c.Orders > MaxOrders {
		return fmt.Errorf("demo: the number of orders must be 1 to %d, not %d", MaxOrders, c.Orders)
	}
	return nil
}

// work is what charging one of n orders may take, so that many orders take no
// longer than a few.
func (p Pace) work(n int) time.Duration {
	return min(p.Work, p.Arrivals*concurrency/time.Duration(2*n))
}
