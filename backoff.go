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

	// portWait bounds the wait for a broker whose port does not answer: such a
	// try costs one packet, and a consumer should be back within seconds of
	// its broker. Everything that costs a handshake waits up to longWait.
	portWait = 3 * time.Second

	// healthyAfter is how long a session must have lasted for the next failure
	// to be a first one again.
	healthyAfter = 10 * time.Second
)

// backoff doubles its ceiling from firstWait, with full jitter, so that a
// fleet does not come back as one. It carries on across settlement failures.
type backoff struct{ failures int }

func (b *backoff) next(err error) time.Duration {
	limit := longWait
	if errors.Is(err, broker.ErrUnreachable) {
		limit = portWait
	}
	ceiling := ceilingAfter(b.failures, firstWait, limit)
	b.failures++
	return time.Duration(rand.Int64N(int64(ceiling))) + time.Millisecond
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
