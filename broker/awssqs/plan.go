package awssqs

import (
	"sync"
	"time"
)

// planStep is how exact a plan is: what is due within one step shares a look.
const planStep = 100 * time.Millisecond

// plan is when to look at what is held, besides the looks of every lease.
type plan struct {
	changed chan struct{}

	mu *sync.Mutex
	at map[int64]bool // in steps, rounded up
}

func newPlan() plan { return plan{make(chan struct{}, 1), &sync.Mutex{}, map[int64]bool{}} }

func (p plan) add(at time.Time) {
	p.mu.Lock()
	p.at[(at.UnixNano()+int64(planStep)-1)/int64(planStep)] = true
	p.mu.Unlock()
	select {
	case p.changed <- struct{}{}:
	default: // it is known that something has changed
	}
}

// first is the first look that is planned, and idle where that is sooner.
func (p plan) first(idle time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	for step := range p.at {
		if at := time.Unix(0, step*int64(planStep)); at.Before(idle) {
			idle = at
		}
	}
	return idle
}

// pass forgets what a look now serves.
func (p plan) pass(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for step := range p.at {
		if !time.Unix(0, step*int64(planStep)).After(now) {
			delete(p.at, step)
		}
	}
}
