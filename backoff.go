package holdfast

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	firstWait = 100 * time.Millisecond
	longWait  = 30 * time.Second

	// portWait bounds the wait for a broker that cannot be connected to: such
	// a try costs a packet or two, and a consumer should be back within seconds
	// of its broker.
	portWait = 3 * time.Second

	// flapWait is the least wait from the second short session in a row on: a
	// message that brings every session down comes at most twice a second.
	flapWait = 500 * time.Millisecond

	// healthyAfter is how long a session must have lasted for its end to be a
	// first one again; steadyAfter, when it ended by a settlement that failed.
	healthyAfter = 10 * time.Second
	steadyAfter  = 5 * time.Minute
)

// backoff doubles its ceiling from firstWait, with full jitter, so that a
// fleet does not come back as one. It carries on across settlement failures.
//
// What could not be opened and what did not last are counted apart: a broker
// that was down for long, and is restarted once more, is no flapping one.
type backoff struct{ refused, short int }

// notOpened is the wait after a session could not be opened.
func (b *backoff) notOpened(err error) time.Duration {
	limit := longWait
	if errors.Is(err, broker.ErrUnreachable) {
		limit = portWait
	}
	b.refused++
	return rand.N(ceilingAfter(b.refused-1, firstWait, limit))
}

// ended is the wait after a session ended that had lasted so long.
func (b *backoff) ended(err error, lasted time.Duration) time.Duration {
	least := healthyAfter
	if errors.Is(err, broker.ErrUnknown) {
		least = steadyAfter
	}
	if lasted >= least {
		b.short = 0
	}
	b.refused = 0
	b.short++
	wait := rand.N(ceilingAfter(b.short-1, firstWait, longWait))
	if b.short > 1 {
		wait = max(wait, flapWait)
	}
	return wait
}

// ceilingAfter doubles first n times, up to limit.
func ceilingAfter(n int, first, limit time.Duration) time.Duration {
	for range n {
		if first >= limit/2 {
			return limit
		}
		first *= 2
	}
	return min(first, limit)
}
