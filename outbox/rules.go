package outbox

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// settings are what relays of one outbox must agree on to do the same. They
// travel as text in [store.Relay.Settings].
type settings struct {
	Lease   time.Duration
	Default UnknownRule
	Others  []string // the destinations of the other rule, sorted
}

func settingsOf(c RelayConfig) settings {
	s := settings{Lease: c.Lease, Default: c.Default.Unknown}
	for _, name := range slices.Sorted(maps.Keys(c.Routes)) {
		if c.Routes[name].Unknown != s.Default {
			s.Others = append(s.Others, name)
		}
	}
	return s
}

func (s settings) String() string {
	text, _ := json.Marshal(s) // of such a struct never fails
	return string(text)
}

// parseSettings reads those of another relay. Those of another version, which
// cannot be read, count as the most careful ones.
func parseSettings(text string) settings {
	var s settings
	if json.Unmarshal([]byte(text), &s) != nil || s.Lease <= 0 {
		return settings{Lease: maxRelayLease, Default: LeaveForHuman}
	}
	s.Lease = min(s.Lease, maxRelayLease)
	return s
}

func (s settings) rule(destination string) UnknownRule {
	switch other := slices.Contains(s.Others, destination); {
	case other && s.Default == Republish:
		return LeaveForHuman
	case other:
		return Republish
	default:
		return s.Default
	}
}

// rules say which destinations' unknown rows are left for a human: all those
// that any of the relays leaves. While two disagree, no duplicate is made that
// one of them forbids.
type rules struct{ all []settings }

func (r rules) leaves(destination string) bool {
	return slices.ContainsFunc(r.all, func(s settings) bool { return s.rule(destination) == LeaveForHuman })
}

// apply writes the rules into a claim.
func (r rules) apply(c *store.Claim) {
	c.LeaveAll = slices.ContainsFunc(r.all, func(s settings) bool { return s.Default == LeaveForHuman })
	named := map[string]bool{}
	for _, s := range r.all {
		for _, name := range s.Others {
			named[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if r.leaves(name) != c.LeaveAll {
			c.Leave = append(c.Leave, name)
		}
	}
}
