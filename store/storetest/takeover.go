package storetest

import (
	"slices"

	"github.com/holdfast-mq/holdfast/store"
)

var takeoverCases = []testCase{
	{name: "claims_again_what_was_never_recorded", run: takeoverReclaims},
	{name: "keeps_order_with_what_came_since", run: takeoverInOrder},
	{name: "keeps_what_was_confirmed", run: takeoverConfirmed},
	{name: "leaves_the_destinations_it_is_told_to", run: takeoverLeaves},
	{name: "leaves_all_but_the_exceptions", run: takeoverLeavesAll},
	{name: "leaves_no_pending_row", run: takeoverPending},
	{name: "counts_each_time", run: takeoverCounts},
	{name: "is_the_same_after_a_yield", run: takeoverAfterYield},
	{name: "touches_no_skipped_destination", run: takeoverSkips},
}

// sameSet ends the case unless both have the same elements in any order.
func sameSet(sc *scene, what string, got, want []string) {
	sc.Helper()
	same(sc, what, slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}

func takeoverReclaims(sc *scene) {
	ids := sc.add(entries(3, 5)...)
	dead := sc.holder(5)
	dead.claim(5)
	dead.record(5, store.Outcome{ID: ids[1], State: store.Published, Confirmed: 1})
	next := sc.holder(5)
	lanes, err := sc.s.Due(sc.ctx(), []store.Claim{next.of(5)})
	sc.must(err)
	same(sc, "lanes that are due", lanes, []int{5})
	rows := next.claim(5)
	same(sc, "claimed", rowIDs(rows), []string{ids[0], ids[2]})
	for _, row := range append(rows, sc.row(ids[0])) {
		equal(sc, "unknowns", row.Unknowns, 1)
		equal(sc, "relay", row.Relay, next.id)
		equal(sc, "token", row.Token, next.held[5].Token)
	}
}

func takeoverInOrder(sc *scene) {
	ids := sc.add(keyed(5, "k"), keyed(5, "k"))
	sc.holder(5).claim(5)
	ids = append(ids, sc.add(keyed(5, "k"))...)
	same(sc, "claimed", rowIDs(sc.holder(5).claim(5)), ids)
}

func takeoverConfirmed(sc *scene) {
	e := newEntry(5)
	e.Keys = []string{"v2", "v1"}
	sc.add(e)
	dead := sc.holder(5)
	dead.claim(5)
	dead.record(5, store.Outcome{ID: e.ID, State: store.Pending, Confirmed: 0b10})
	dead.claim(5)
	equal(sc, "confirmed", sc.holder(5).claim(5)[0].Confirmed, 0b10)
}

// crashed commits a row to each destination, which a relay claims before it
// dies.
func (sc *scene) crashed(lane int, destinations ...string) (ids []string) {
	sc.Helper()
	for _, d := range destinations {
		ids = append(ids, sc.add(to(lane, d))...)
	}
	equal(sc, "claimed before the crash", len(sc.holder(lane).claim(lane)), len(ids))
	return ids
}

func takeoverLeaves(sc *scene) {
	ids := sc.crashed(5, "mail", "orders", "sms")
	next := sc.holder(5)
	c := next.of(5)
	c.Leave = []string{"mail", "sms"}
	same(sc, "claimed", rowIDs(next.claimAs(c)), ids[1:2])
	for _, id := range []string{ids[0], ids[2]} {
		row := sc.row(id)
		equal(sc, "state", row.State, store.Publishing)
		equal(sc, "unknowns", row.Unknowns, 0)
	}
	lanes, err := sc.s.Due(sc.ctx(), []store.Claim{c})
	sc.must(err)
	equal(sc, "lanes that are due", len(lanes), 0)
}

func takeoverLeavesAll(sc *scene) {
	ids := sc.crashed(5, "mail", "orders", "sms")
	next := sc.holder(5)
	c := next.of(5)
	c.LeaveAll, c.Leave = true, []string{"orders"}
	same(sc, "claimed", rowIDs(next.claimAs(c)), ids[1:2])
	c.Leave = nil
	equal(sc, "claimed without exceptions", len(next.claimAs(c)), 0)
}

func takeoverPending(sc *scene) {
	ids := sc.add(to(5, "mail"), to(5, "orders"))
	r := sc.holder(5)
	c := r.of(5)
	c.LeaveAll = true
	same(sc, "claimed", rowIDs(r.claimAs(c)), ids)
}

func takeoverCounts(sc *scene) {
	id := sc.add(newEntry(5))[0]
	for crashes := range 4 {
		equal(sc, "unknowns", sc.holder(5).claim(5)[0].Unknowns, crashes)
	}
	equal(sc, "unknowns", sc.row(id).Unknowns, 3)
}

func takeoverAfterYield(sc *scene) {
	ids := sc.add(newEntry(5))
	a := sc.holder(5)
	a.claim(5)
	sc.must(a.s.Yield(sc.ctx(), a.id, []store.Lease{a.held[5]}, true))
	rows := sc.holder(5).claim(5)
	same(sc, "claimed", rowIDs(rows), ids)
	equal(sc, "unknowns", rows[0].Unknowns, 1)
}

func takeoverSkips(sc *scene) {
	ids := sc.crashed(5, "down", "orders")
	next := sc.holder(5)
	c := next.of(5)
	c.Skip = []string{"down"}
	same(sc, "claimed", rowIDs(next.claimAs(c)), ids[1:])
	equal(sc, "unknowns of the skipped row", sc.row(ids[0]).Unknowns, 0)
}
