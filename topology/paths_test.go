package topology

import (
	"reflect"
	"testing"
)

// system is a source with Holdfast's ladder, and queues of somebody else's.
func system() *Topology {
	return &Topology{
		Exchanges: []Exchange{
			{Name: "shop", Type: "topic"},
			{Name: "dlx", Type: "direct"},
			{Name: "bare", Type: "fanout"},
			{Name: "holdfast.return", Type: "direct", Alternate: "holdfast.unrouted"},
			{Name: "holdfast.unrouted", Type: "fanout"},
			{Name: "holdfast.retry.1000", Type: "fanout"},
		},
		Queues: []Queue{
			{Name: "orders", Type: "quorum", Arguments: map[string]any{}},
			{Name: "holdfast.unrouted", Type: "quorum"},
			{Name: "holdfast.retry.1000", Type: "quorum", Arguments: map[string]any{
				ArgMessageTTL: 1000.0, ArgDeadLetterExchange: "holdfast.return", ArgDeadLetterStrategy: "at-least-once", ArgOverflow: "reject-publish",
			}},
			{Name: "keyed", Type: "classic", Arguments: map[string]any{ArgDeadLetterExchange: "dlx", ArgDeadLetterKey: "dead"}},
			{Name: "unkeyed", Type: "classic", Arguments: map[string]any{ArgDeadLetterExchange: "dlx"}},
			{Name: "lost", Type: "classic", Arguments: map[string]any{ArgDeadLetterExchange: "gone"}},
			{Name: "hole", Type: "classic", Arguments: map[string]any{ArgDeadLetterExchange: "bare", ArgMaxLength: 10.0}},
			{Name: "dlq", Type: "classic"},
			{Name: "ring1", Type: "classic", Arguments: map[string]any{ArgMessageTTL: 1.0, ArgDeadLetterExchange: "", ArgDeadLetterKey: "ring2"}},
			{Name: "ring2", Type: "classic", Arguments: map[string]any{ArgMessageTTL: 1.0, ArgDeadLetterExchange: "", ArgDeadLetterKey: "ring1"}},
		},
		Bindings: []Binding{
			{Source: "shop", Destination: "orders", Key: "order.#"},
			{Source: "shop", Destination: "unkeyed", Key: "order.placed"},
			{Source: "holdfast.return", Destination: "orders", Key: "orders"},
			{Source: "holdfast.unrouted", Destination: "holdfast.unrouted"},
			{Source: "holdfast.retry.1000", Destination: "holdfast.retry.1000"},
			{Source: "dlx", Destination: "dlq", Key: "dead"},
		},
	}
}

func TestPaths(t *testing.T) {
	got := map[string]Path{}
	for _, p := range Paths(NewIndex(system()), RulesOf("4.3.6")) {
		got[p.Queue] = p
	}
	for name, want := range map[string]struct {
		promise Promise
		ends    []string
		causes  []Cause
	}{
		"orders":              {"", nil, []Cause{CauseRejected, CauseLimit}},
		"holdfast.retry.1000": {Confirmed, []string{"holdfast.unrouted"}, []Cause{CauseRejected, CauseExpired, CauseLimit}},
		"keyed":               {AtMostOnce, []string{"dlq"}, []Cause{CauseRejected}},
		"unkeyed":             {BlackHole, nil, []Cause{CauseRejected}},
		"lost":                {BlackHole, nil, []Cause{CauseRejected}},
		"hole":                {BlackHole, nil, []Cause{CauseRejected, CauseLength}},
	} {
		p, promise := got[name], Promise("")
		if len(p.Hops) > 0 {
			promise = p.Hops[0].Promise
		}
		if promise != want.promise || !reflect.DeepEqual(p.Ends, want.ends) || !reflect.DeepEqual(p.Causes, want.causes) {
			t.Errorf("%s: %+v, want %+v", name, p, want)
		}
	}
	if p := got["ring1"]; !p.Cycle || !p.Dropped {
		t.Errorf("a ring of expiries: %+v", p)
	}
	if _, there := got["dlq"]; there {
		t.Error("a classic queue that keeps everything has a path")
	}
}

// TestAPatternThatIsPartlyTakenIsNotLost has a source with a wildcard and a direct
// exchange that names what is really published.
func TestAPatternThatIsPartlyTakenIsNotLost(t *testing.T) {
	s := system()
	s.Bindings = append(s.Bindings, Binding{Source: "shop", Destination: "lost", Key: "order.*"}, Binding{Source: "dlx", Destination: "dlq", Key: "order.paid"})
	for i := range s.Queues {
		if s.Queues[i].Name == "lost" {
			s.Queues[i].Arguments[ArgDeadLetterExchange] = "dlx"
		}
	}
	for _, p := range Paths(NewIndex(s), Rules{}) {
		if p.Queue == "lost" && (p.Hops[0].Promise != AtMostOnce || len(p.Hops[0].Lost) != 0) {
			t.Errorf("%+v", p)
		}
	}
}

func TestACycleWithARejectionInItIsNotDropped(t *testing.T) {
	p := Paths(NewIndex(&Topology{Queues: []Queue{
		{Name: "work", Arguments: map[string]any{ArgDeadLetterExchange: "", ArgDeadLetterKey: "wait"}},
		{Name: "wait", Arguments: map[string]any{ArgMessageTTL: 1.0, ArgDeadLetterExchange: "", ArgDeadLetterKey: "work"}},
	}}), Rules{})
	for _, path := range p {
		if path.Dropped {
			t.Errorf("%+v", path)
		}
	}
}

func TestTheDefaultLimitIsOfTheVersion(t *testing.T) {
	q := &Queue{Type: "quorum"}
	for version, want := range map[string]int64{"3.10.8": 0, "3.13.1": 0, "4.0.2": 20, "4.3.6": 20, "10.0.0": 20} {
		if got := RulesOf(version).Limit(q); got != want {
			t.Errorf("%s: %d, want %d", version, got, want)
		}
	}
	if RulesOf("4.3.6").Limit(&Queue{Type: "quorum", Arguments: map[string]any{ArgDeliveryLimit: -1.0}}) != 0 {
		t.Error("-1 is a limit")
	}
}

func TestBranchesThatMeetAreNoCycle(t *testing.T) {
	wait := map[string]any{ArgMessageTTL: 1.0, ArgDeadLetterExchange: "", ArgDeadLetterKey: "end"}
	x := NewIndex(&Topology{
		Exchanges: []Exchange{{Name: "all", Type: "fanout"}},
		Queues: []Queue{
			{Name: "source", Arguments: map[string]any{ArgMessageTTL: 1.0, ArgDeadLetterExchange: "all"}},
			{Name: "wait1", Arguments: wait},
			{Name: "wait2", Arguments: wait},
			{Name: "end"},
		},
		Bindings: []Binding{{Source: "all", Destination: "wait1"}, {Source: "all", Destination: "wait2"}},
	})
	for _, p := range Paths(x, Rules{}) {
		if p.Cycle || p.Dropped || !reflect.DeepEqual(p.Ends, []string{"end"}) {
			t.Errorf("%+v", p)
		}
	}
}

func TestEachBranchKeepsItsKeys(t *testing.T) {
	x := NewIndex(&Topology{
		Exchanges: []Exchange{{Name: "all", Type: "fanout"}, {Name: "back", Type: "direct"}},
		Queues: []Queue{
			{Name: "source", Arguments: map[string]any{ArgDeadLetterExchange: "all"}},
			{Name: "wait1", Arguments: map[string]any{ArgMessageTTL: 1.0, ArgDeadLetterExchange: "back", ArgDeadLetterKey: "one"}},
			{Name: "wait2", Arguments: map[string]any{ArgMessageTTL: 1.0, ArgDeadLetterExchange: "back"}},
		},
		Bindings: []Binding{{Source: "all", Destination: "wait1"}, {Source: "all", Destination: "wait2"}},
	})
	for _, h := range Paths(x, Rules{})[0].Hops {
		if h.Queue == "wait2" && !reflect.DeepEqual(h.Keys, []string{"source"}) {
			t.Errorf("wait2 publishes under %q", h.Keys)
		}
	}
}
