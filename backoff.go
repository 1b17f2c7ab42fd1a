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

	// healthyAfter is how long a session must have lasted for the next failure
	// to be a first one again.
	healthyAfter = 10 * time.Second
)

// backoff doubles its ceiling from firstWait, with full jitter, so that a
// fleet does not come back as one. It carries on across settlement failures.
type backoff struct{ failures int }

// next is the wait after err. opened says that there was a session, which then
// ended.
func (b *backoff) next(err error, opened bool) time.Duration {
	least, limit := time.Millisecond, longWait
	if opened && b.failures > 0 {
		least = flapWait
	}
	if !opened && errors.Is(err, broker.ErrUnreachable) {
		limit = portWait
	}
	ceiling := ceilingAfter(b.failures, firstWait, limit)
	b.failures++
	return max(rand.N(ceiling), least)
}

func (b *backoff) reset() { b.failures = 0 }

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
