package holdfast

import (
	"sync"

	"github.com/holdfast-mq/holdfast/broker"
)

// Books are the counts of a consumer since it was made. They balance at any
// time:
//
//	Received = Done + Delayed + Held + Parked + Discarded + Released + InFlight
type Books struct {
	Received  int64 `json:"received"`  // deliveries handed over by the broker
	Done      int64 `json:"done"`      // the handler succeeded
	Delayed   int64 `json:"delayed"`   // copies waiting on a rung
	Held      int64 `json:"held"`      // copies waiting in a hold
	Parked    int64 `json:"parked"`    // copies kept for a human
	Discarded int64 `json:"discarded"` // dropped on purpose
	Released  int64 `json:"released"`  // given back to the broker
	InFlight  int64 `json:"in_flight"` // not settled yet
}

// Balanced reports whether the books balance. Books that a consumer returned
// always do.
func (b Books) Balanced() bool {
	return b.Received == b.Done+b.Delayed+b.Held+b.Parked+b.Discarded+b.Released+b.InFlight
}

// ledger keeps the books. One lock, and not one atomic for each count, so that
// a reader sees them balance.
type ledger struct {
	mu    sync.Mutex
	books Books

	// waiting counts deliveries whose settlement was refused and is tried
	// again later: they are in flight, and nobody waits for them.
	waiting int64

	idle chan struct{} // closed when at most want deliveries are in flight
	want int64
}

func (l *ledger) received() {
	l.mu.Lock()
	l.books.Received++
	l.books.InFlight++
	l.mu.Unlock()
}

func (l *ledger) settled(f broker.Fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.books.InFlight--
	*l.books.count(f)++
	l.wake()
}

func (l *ledger) stuck(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting += int64(n)
	l.wake()
}

func (l *ledger) wake() {
	if l.idle != nil && l.books.InFlight-l.waiting <= l.want {
		close(l.idle)
		l.idle = nil
	}
}

func (b *Books) count(f broker.Fate) *int64 {
	switch f {
	case broker.FateDone:
		return &b.Done
	case broker.FateDelay:
		return &b.Delayed
	case broker.FateHold:
		return &b.Held
	case broker.FatePark:
		return &b.Parked
	case broker.FateDiscard:
		return &b.Discarded
	default:
		return &b.Released
	}
}

func (l *ledger) read() Books {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.books
}

// inFlight is what is not settled and not stuck.
func (l *ledger) inFlight() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.books.InFlight - l.waiting
}

// downTo returns a channel that is closed when at most n deliveries are in
// flight besides those that are stuck. There is one waiter at a time: while
// the dispatcher runs it, and then the drain.
func (l *ledger) downTo(n int64) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	ch := make(chan struct{})
	l.idle, l.want = ch, n
	l.wake()
	return ch
}
