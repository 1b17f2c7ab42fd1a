package holdfast

import (
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// facts is everything that a fate depends on besides the policy and the
// verdict.
type facts struct {
	attempt int // this delivery's, from 1
	try     int // of this attempt, from 1; 0 before the handler ran
	lap     int // holds so far
	crashes int // deliveries that ended without a settlement

	counted   bool          // the broker's own counter is the attempt
	base      int           // the attempt that this copy began with, where counted
	unstamped bool          // the last crash is known from this delivery only
	oversize  bool          // no room for a copy that takes a rung or a hold
	canDelay  bool          // the broker can delay
	canHold   bool          // the message could be returned to its source
	early     time.Duration // the handler asked not to see it for this long still
	stopping  bool          // the grace period is over: the failure proves nothing
}

// unsettled is how many deliveries of this copy ended without a settlement, at
// least, where the broker counts: those that the budget had no retry for.
func (f facts) unsettled(p Policy) int {
	retries := max(len(p.Ladder)+1-f.base, 0)
	return max(f.attempt-f.base-retries, 0)
}

// ruling is what a handler said, with what the policy's classifier made of it.
type ruling struct {
	kind      verdictKind
	after     time.Duration
	malformed bool
}

// decision is one fate and the counts that its copy carries.
type decision struct {
	fate    broker.Fate
	run     bool          // instead of a fate: call the handler (again)
	wait    time.Duration // before the next try, or the rung of FateDelay
	reason  broker.Reason
	attempt int
	lap     int
	crashes int
	stamped bool // FateRelease: a copy keeps the counts
}

// admit decides what becomes of a delivery before the handler sees it.
func admit(p Policy, f facts) decision {
	d := decision{attempt: f.attempt, lap: f.lap, crashes: f.crashes}
	switch {
	case f.crashes >= p.Crashes, f.counted && f.unsettled(p) >= p.Crashes:
		return d.park(f, broker.ReasonCrashLoop)
	case f.unstamped:
		// The charge must be durable before the message may do it again.
		d.fate, d.stamped = broker.FateRelease, true
	case f.early > 0 && f.canDelay && !f.oversize && len(p.Ladder) > 0:
		// It came back from a rung that is shorter than what the handler asked
		// for. Another round spends nothing.
		d.fate, d.wait = broker.FateDelay, rungFor(p.Ladder, 0, f.early)
	default:
		d.run = true
	}
	return d
}

// decide decides what becomes of a delivery whose handler returned an error.
// Together with admit it is the only place where a fate is chosen.
//
// A handler that returned has killed nobody: the copy that goes back to work
// starts with no crashes. The sum stays bounded, since each round spends an
// attempt or a lap. A parked copy keeps the count, for whoever reads it.
func decide(p Policy, f facts, r ruling) decision {
	d := decision{attempt: f.attempt, lap: f.lap}
	switch {
	case r.kind == kindDiscard:
		d.fate = broker.FateDiscard
		return d
	case r.kind == kindPark && r.malformed:
		return d.park(f, broker.ReasonMalformed)
	case r.kind == kindPark:
		return d.park(f, broker.ReasonVerdict)
	case f.stopping:
		// The handler was cut off: its failure says nothing of the message.
		d.fate = broker.FateRelease
		return d
	case r.kind == kindHold:
		return d.hold(p, f)
	default:
		return d.retry(p, f, r.after)
	}
}

func (d decision) retry(p Policy, f facts, after time.Duration) decision {
	switch {
	case f.try < p.Tries && after <= tryDelay(f.try):
		d.run, d.wait = true, tryDelay(f.try)
		return d
	case f.attempt > len(p.Ladder):
		if p.Exhausted == ExhaustedHold && f.canHold && !f.oversize && f.lap < p.Laps {
			return d.hold(p, f)
		}
		return d.park(f, broker.ReasonExhausted)
	case f.oversize:
		return d.park(f, broker.ReasonOversize)
	case !f.canDelay:
		return d.park(f, broker.ReasonExhausted)
	}
	d.fate, d.wait, d.attempt = broker.FateDelay, rungFor(p.Ladder, f.attempt-1, after), f.attempt+1
	return d
}

func (d decision) hold(p Policy, f facts) decision {
	switch {
	case f.lap >= p.Laps:
		return d.park(f, broker.ReasonLapsExhausted)
	case !f.canHold:
		return d.park(f, broker.ReasonNoncanonicalRoute)
	case f.oversize:
		return d.park(f, broker.ReasonOversize)
	}
	d.fate, d.wait, d.lap = broker.FateHold, p.Hold, f.lap+1
	return d
}

func (d decision) park(f facts, reason broker.Reason) decision {
	d.fate, d.reason, d.crashes = broker.FatePark, reason, f.crashes
	return d
}

// rungFor picks the rung of the ladder for the wait that follows its i-th
// attempt (from 0), never shorter than atLeast while the ladder has one: the
// rung itself, else the shortest that is long enough, else the longest. What
// is then still missing is waited for in further rounds.
func rungFor(ladder []time.Duration, i int, atLeast time.Duration) time.Duration {
	own := ladder[min(i, len(ladder)-1)]
	if own >= atLeast {
		return own
	}
	best, longest := time.Duration(0), own
	for _, rung := range ladder {
		longest = max(longest, rung)
		if rung >= atLeast && (best == 0 || rung < best) {
			best = rung
		}
	}
	return or(best, longest)
}

// tryDelay is the wait after the n-th try of an attempt, without its jitter.
func tryDelay(n int) time.Duration { return time.Duration(n) * 100 * time.Millisecond }
