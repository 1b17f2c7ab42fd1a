package outbox

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstWait = 100 * time.Millisecond
	longWait  = 30 * time.Second
)

// backoff counts failures in a row. A wait is a random one below a ceiling that
// doubles, so that relays do not come back as one.
type backoff struct{ failures int }

func (b *backoff) next(first, most time.Duration) time.Duration {
	wait := doubled(first, b.failures, most)
	b.failures++
	return rand.N(wait) + 1
}

func (b *backoff) reset() { b.failures = 0 }

// doubled is first, doubled n times, up to most.
func doubled(first time.Duration, n int, most time.Duration) time.Duration {
	for range n {
		if first >= most/2 {
			return most
		}
		first *= 2
	}
	return min(first, most)
}

// pause waits for d, or reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
