package holdfast

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-mq/holdfast/internal/bounds"
)

// The defaults and bounds of a [Policy].
const (
	DefaultHold    = 10 * time.Minute
	DefaultLaps    = 12
	DefaultCrashes = 5

	maxRungs   = 32
	minRung    = time.Millisecond
	maxRung    = 24 * time.Hour
	maxTries   = 10
	maxHold    = 24 * time.Hour
	maxLaps    = 100
	maxCrashes = 100
	maxTimeout = 24 * time.Hour
)

// Exhausted is what happens to a message whose ladder is spent.
type Exhausted string

const (
	// ExhaustedPark parks it. This is the default.
	ExhaustedPark Exhausted = "park"

	// ExhaustedHold holds it; after the hold it runs again as the last
	// attempt, until the laps are spent too.
	ExhaustedHold Exhausted = "hold"
)

// Policy bounds what Holdfast does for a message that fails. The zero value is
// [EventPolicy]. A policy is copied, defaulted and checked whole when the
// consumer is made.
type Policy struct {
	// Ladder is the delays between attempts, spent outside the process. Its
	// length is the number of retries: len(Ladder)+1 attempts. nil means the
	// ladder of [EventPolicy]; an empty one that is not nil means one attempt.
	// Each rung is 1 ms to 24 h, at most 32 rungs.
	Ladder []time.Duration

	// Tries is how often the handler is called inside one attempt, 100 ms·n
	// plus up to 100 ms apart, while the delivery is kept: 1 to 10. 0 means 1.
	Tries int

	// Hold is how long a held message waits before it comes back: 1 s to 24 h.
	// 0 means 10 minutes.
	Hold time.Duration

	// Laps is how many holds a message may go through before it is parked:
	// 1 to 100. 0 means 12, which with the default hold rides through about
	// two hours.
	Laps int

	// Crashes is how many deliveries of a message may end without a settlement
	// before it is parked unrun, since it may be what kills the process:
	// 1 to 100. 0 means 5, which leaves room for innocent charges: most
	// brokers also charge a message that was only fetched when a connection
	// ended.
	Crashes int

	// Exhausted is what happens when the ladder is spent. Empty means park.
	Exhausted Exhausted

	// Timeout is how long one call of the handler may take: up to 24 h. 0
	// means that only the broker's own limit counts (30 minutes on RabbitMQ,
	// after which it takes the message away from a running handler).
	Timeout time.Duration

	// Classify turns an error that carries no verdict into one that does, or
	// returns nil for an error that it does not recognise. It may be nil.
	Classify func(error) error
}

// EventPolicy is for events, which nobody waits for: five attempts over 131 s,
// sized for rollouts and failovers, so that a parked message means that
// something is wrong and not that something was briefly slow.
func EventPolicy() Policy {
	return Policy{Ladder: []time.Duration{time.Second, 10 * time.Second, 30 * time.Second, 90 * time.Second}}.withDefaults()
}

// RequestPolicy is for requests, whose caller is blocked meanwhile: five
// attempts over 19 s.
func RequestPolicy() Policy {
	return Policy{Ladder: []time.Duration{time.Second, 3 * time.Second, 5 * time.Second, 10 * time.Second}}.withDefaults()
}

// Attempts is how often a message is delivered to the handler before its
// ladder is spent.
func (p Policy) Attempts() int { return len(p.withDefaults().Ladder) + 1 }

func (p Policy) withDefaults() Policy {
	if p.Ladder == nil {
		p.Ladder = []time.Duration{time.Second, 10 * time.Second, 30 * time.Second, 90 * time.Second}
	}
	p.Ladder = slices.Clone(p.Ladder)
	p.Tries = or(p.Tries, 1)
	p.Hold = or(p.Hold, DefaultHold)
	p.Laps = or(p.Laps, DefaultLaps)
	p.Crashes = or(p.Crashes, DefaultCrashes)
	p.Exhausted = or(p.Exhausted, ExhaustedPark)
	return p
}

func or[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// validate checks a defaulted policy whole; each line of the error names the
// field, its bound and the value.
func (p Policy) validate() error {
	var errs []error
	bad := func(ok bool, field, bound string, value any) {
		if !ok {
			errs = append(errs, fmt.Errorf("policy: %s must be %s, not %v", field, bound, value))
		}
	}
	bad(len(p.Ladder) <= maxRungs, "Ladder", fmt.Sprintf("at most %d rungs", maxRungs), len(p.Ladder))
	for i, rung := range p.Ladder {
		bad(minRung <= rung && rung <= maxRung, fmt.Sprintf("Ladder[%d]", i), fmt.Sprintf("%v to %v", minRung, maxRung), rung)
		bad(rung%time.Millisecond == 0, fmt.Sprintf("Ladder[%d]", i), "a whole number of milliseconds", rung)
	}
	bad(1 <= p.Tries && p.Tries <= maxTries, "Tries", fmt.Sprintf("1 to %d", maxTries), p.Tries)
	bad(bounds.MinHold() <= p.Hold && p.Hold <= maxHold, "Hold", fmt.Sprintf("%v to %v", bounds.MinHold(), maxHold), p.Hold)
	bad(1 <= p.Laps && p.Laps <= maxLaps, "Laps", fmt.Sprintf("1 to %d", maxLaps), p.Laps)
	bad(1 <= p.Crashes && p.Crashes <= maxCrashes, "Crashes", fmt.Sprintf("1 to %d", maxCrashes), p.Crashes)
	bad(p.Exhausted == ExhaustedPark || p.Exhausted == ExhaustedHold, "Exhausted", `"park" or "hold"`, p.Exhausted)
	bad(0 <= p.Timeout && p.Timeout <= maxTimeout, "Timeout", fmt.Sprintf("0 to %v", maxTimeout), p.Timeout)
	return errors.Join(errs...)
}
