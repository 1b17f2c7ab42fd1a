package holdfast

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

// FindingKind is what a [Finding] is about. The set is closed.
type FindingKind string

// The findings.
const (
	// FindingSenseless: the policy asks for what the broker cannot do for this
	// source, so that a part of the budget is never used.
	FindingSenseless FindingKind = "budget_senseless"

	// FindingNativeFirst: the broker takes a message away by itself before the
	// policy's bound is reached. Neither limit is suppressed; the lower acts.
	FindingNativeFirst FindingKind = "native_limit_first"

	// FindingUnenforceable: no count of deliveries exists for this source, so
	// that nothing can bound the attempts.
	FindingUnenforceable FindingKind = "budget_unenforceable"
)

// Finding is a doubt about a policy on a broker. It never stops a consumer: it
// is told once for each subscription, as an [EventWarning] after the first
// attachment, and never for a message.
type Finding struct {
	Kind FindingKind
	Text string
}

// Findings compares a policy with what a broker says of a source. The policy
// is defaulted first. Several findings may come of one pair.
func Findings(p Policy, queue string, caps broker.Capabilities) []Finding {
	p = p.withDefaults()
	var all []Finding
	add := func(kind FindingKind, format string, args ...any) {
		all = append(all, Finding{kind, fmt.Sprintf("%s: ", queue) + fmt.Sprintf(format, args...)})
	}
	if len(p.Ladder) > 0 && !caps.Delay {
		add(FindingSenseless, "a ladder of %d rungs, and this broker cannot delay: every failure parks at once; give an empty ladder, or another broker", len(p.Ladder))
	}
	if p.Exhausted == ExhaustedHold && !caps.Hold {
		add(FindingSenseless, "a spent ladder shall hold, and nothing can be held for this source: it parks; set Exhausted to park")
	}
	if budget, what := budgetOf(p, caps); caps.NativeLimit > 0 && budget >= caps.NativeLimit {
		add(FindingNativeFirst, "the broker takes a message away after %d deliveries, and the policy allows %d %s: the effective limit is %d, "+
			"and what the broker takes carries no capture; raise the broker's limit above %d",
			caps.NativeLimit, budget, what, caps.NativeLimit, budget)
	}
	if caps.Unenforceable != "" {
		add(FindingUnenforceable, "a budget of %d attempts cannot be kept: %s", p.Attempts(), caps.Unenforceable)
	}
	return all
}

// budgetOf is the bound that a broker's own limit on deliveries races with.
func budgetOf(p Policy, caps broker.Capabilities) (n int, what string) {
	if caps.Attempts {
		return len(p.Ladder) + 1, "attempts"
	}
	return p.Crashes, "deliveries that end without a settlement"
}

// tellFindings warns once in the life of a consumer.
func (e *engine) tellFindings(caps broker.Capabilities) {
	e.doubts.Do(func() {
		for _, f := range Findings(e.cfg.Policy, e.cfg.Queue, caps) {
			e.event(Event{Kind: EventWarning, Text: f.Text})
		}
	})
}
