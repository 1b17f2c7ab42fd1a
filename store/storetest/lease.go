package storetest

import (
	"github.com/holdfast-mq/holdfast/store"
)

var leaseCases = []testCase{
	{name: "every_lane_has_a_lease_and_nobody_has_it_at_first", run: leasesAtFirst},
	{name: "each_beat_adds_one_and_shows_all_relays", run: beats},
	{name: "the_token_grows_with_each_change_of_hands", run: tokensGrow},
	{name: "two_who_take_one_get_it_once", run: takeAtOnce},
	{name: "a_stale_view_takes_nothing", run: takeStale},
	{name: "yield_frees_what_is_still_held_and_nothing_else", run: yields},
	{name: "yield_with_gone_removes_the_relay", run: yieldsGone},
	{name: "forget_removes_who_holds_nothing", run: forgets},
	{name: "a_paused_relay_that_wakes_late_changes_nothing", run: wakesLate},
	{name: "a_lease_given_up_claims_and_records_nothing", run: gaveUp},
}

func leasesAtFirst(sc *scene) {
	standing := sc.relay(sc.s).beat()
	lanes := map[int]bool{}
	for _, l := range standing.Leases {
		lanes[l.Lane] = true
		equal(sc, "who holds a lane at first", l.Relay, "")
		if l.Lane < 0 || l.Lane >= store.Lanes {
			sc.Errorf("there is a lane %d", l.Lane)
		}
	}
	equal(sc, "lanes", len(lanes), store.Lanes)
	equal(sc, "leases", len(standing.Leases), store.Lanes)
}

func beats(sc *scene) {
	other := sc.open()
	a, b := newID(), newID()
	first, err := sc.s.Beat(sc.ctx(), store.Relay{ID: a, Name: "a", Settings: "one", Idle: true})
	sc.must(err)
	_, err = other.Beat(sc.ctx(), store.Relay{ID: b, Name: "b", Settings: "two"})
	sc.must(err)
	second, err := sc.s.Beat(sc.ctx(), store.Relay{ID: a, Name: "a2", Settings: "three"})
	sc.must(err)
	equal(sc, "relays", len(second.Relays), 2)
	was, is, its := relayOf(sc, first, a), relayOf(sc, second, a), relayOf(sc, second, b)
	equal(sc, "beat", is.Beat, was.Beat+1)
	equal(sc, "idle, first", was.Idle, true)
	equal(sc, "idle, then", is.Idle, false)
	equal(sc, "name and settings", is.Name+" "+is.Settings, "a2 three")
	equal(sc, "name and settings of the other", its.Name+" "+its.Settings, "b two")
	if is.SeenAt.IsZero() || is.SeenAt.Before(was.SeenAt) {
		sc.Errorf("seen at %v, after %v", is.SeenAt, was.SeenAt)
	}
	status, err := other.Status(sc.ctx())
	sc.must(err)
	equal(sc, "beat in the status", relayOf(sc, status.Standing, a).Beat, is.Beat)
}

func relayOf(sc *scene, standing store.Standing, id string) store.Relay {
	sc.Helper()
	for _, r := range standing.Relays {
		if r.ID == id {
			return r
		}
	}
	sc.Fatalf("relay %s is not among %v", id, standing.Relays)
	panic("unreachable")
}

func tokensGrow(sc *scene) {
	last := sc.seen(5)[0].Token
	for range 3 {
		r := sc.holder(5)
		if got := r.held[5].Token; got <= last {
			sc.Fatalf("token %d after %d", got, last)
		}
		last = r.held[5].Token
		equal(sc, "holder", sc.seen(5)[0], store.Lease{Lane: 5, Relay: r.id, Token: last})
	}
}

func takeAtOnce(sc *scene) {
	const relays = 6
	lanes := make([]int, store.Lanes)
	for i := range lanes {
		lanes[i] = i
	}
	seen := sc.seen(lanes...)
	type taken struct {
		leases []store.Lease
		err    error
	}
	results := make(chan taken, relays)
	for range relays {
		r, ctx := sc.relay(sc.open()), sc.ctx()
		go func() {
			leases, err := r.s.Take(ctx, r.id, seen)
			results <- taken{leases, err}
		}()
	}
	owners := map[int]int{}
	for range relays {
		got := within(sc, "the taking", results)
		sc.must(got.err)
		for _, l := range got.leases {
			owners[l.Lane]++
			equal(sc, "the lease", sc.seen(l.Lane)[0], l)
		}
	}
	for lane := range store.Lanes {
		equal(sc, "how often a lane was taken", owners[lane], 1)
	}
}

func takeStale(sc *scene) {
	stale := sc.seen(5, 6)
	first := sc.holder(5)
	second := sc.relay(sc.open())
	taken, err := second.s.Take(sc.ctx(), second.id, stale)
	sc.must(err)
	equal(sc, "taken", len(taken), 1)
	equal(sc, "lane taken", taken[0].Lane, 6)
	equal(sc, "holder of the other", sc.seen(5)[0].Relay, first.id)
	taken, err = second.s.Take(sc.ctx(), second.id, nil)
	sc.must(err)
	equal(sc, "taken of nothing", len(taken), 0)
}

func yields(sc *scene) {
	a := sc.holder(5, 6)
	b := sc.holder(6)
	sc.must(a.s.Yield(sc.ctx(), a.id, []store.Lease{a.held[5], a.held[6]}, false))
	equal(sc, "holder of the lane given up", sc.seen(5)[0].Relay, "")
	equal(sc, "holder of the lane lost before", sc.seen(6)[0].Relay, b.id)
	if got := sc.seen(5)[0].Token; got < a.held[5].Token {
		sc.Errorf("the token fell from %d to %d", a.held[5].Token, got)
	}
	relayOf(sc, b.beat(), a.id)
	c := sc.holder(5)
	if c.held[5].Token <= a.held[5].Token {
		sc.Errorf("token %d after %d", c.held[5].Token, a.held[5].Token)
	}
}

func yieldsGone(sc *scene) {
	a, b := sc.holder(5), sc.relay(sc.s)
	sc.must(a.s.Yield(sc.ctx(), a.id, []store.Lease{a.held[5]}, true))
	equal(sc, "relays", len(b.beat().Relays), 1)
	equal(sc, "holder", sc.seen(5)[0].Relay, "")
}

func forgets(sc *scene) {
	holder, dead, alive := sc.holder(5), sc.relay(sc.s), sc.relay(sc.s)
	sc.must(sc.s.Forget(sc.ctx(), []string{holder.id, dead.id}))
	standing := alive.beat()
	equal(sc, "relays", len(standing.Relays), 2)
	relayOf(sc, standing, holder.id)
	sc.must(sc.s.Forget(sc.ctx(), nil))
	equal(sc, "relays", len(alive.beat().Relays), 2)
}

func wakesLate(sc *scene) {
	ids := sc.add(entries(2, 5)...)
	paused := sc.holder(5)
	one := paused.of(5)
	one.Limit = 1
	equal(sc, "claimed before the pause", len(paused.claimAs(one)), 1)
	next := sc.relay(sc.open())
	next.take(5)
	same(sc, "claimed by the next", rowIDs(next.claim(5)), ids)
	for _, state := range []store.State{store.Published, store.Failed, store.Pending, store.Publishing} {
		written := paused.record(5, store.Outcome{ID: ids[0], State: state, Confirmed: 1, Class: store.ClassRefused, Error: "late", Unknown: true})
		equal(sc, "rows written late as "+string(state), len(written), 0)
	}
	sc.add(newEntry(5))
	equal(sc, "rows claimed late", len(paused.claim(5)), 0)
	row := sc.row(ids[0])
	equal(sc, "state", row.State, store.Publishing)
	equal(sc, "relay", row.Relay, next.id)
	equal(sc, "error", row.Error, "")
	equal(sc, "unknowns", row.Unknowns, 1)
	equal(sc, "rows written by the next", len(next.record(5, store.Outcome{ID: ids[0], State: store.Published, Confirmed: 1})), 1)
}

func gaveUp(sc *scene) {
	ids := sc.add(entries(2, 5)...)
	r := sc.holder(5)
	one := r.of(5)
	one.Limit = 1
	r.claimAs(one)
	sc.must(r.s.Yield(sc.ctx(), r.id, []store.Lease{r.held[5]}, false))
	equal(sc, "claimed", len(r.claim(5)), 0)
	equal(sc, "recorded", len(r.record(5, store.Outcome{ID: ids[0], State: store.Published, Confirmed: 1})), 0)
}
