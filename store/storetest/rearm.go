package storetest

import (
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var rearmCases = []testCase{
	{name: "a_failed_row_starts_over", run: rearmFailed},
	{name: "only_failed_rows_are_taken_unless_told", run: rearmOnlyFailed},
	{name: "what_was_left_for_a_human_is_taken_when_told", run: rearmLeft},
	{name: "what_a_dead_relay_claimed_is_taken_when_told", run: rearmDead},
	{name: "what_a_live_relay_works_on_is_never_taken", run: rearmLive},
	{name: "filters_and_the_limit_select", run: rearmFilters},
	{name: "an_outcome_of_before_is_not_written_after", run: rearmThenRecord},
}

func (sc *scene) rearm(f store.Filter, alive ...string) int {
	sc.Helper()
	n, err := sc.s.Rearm(sc.ctx(), f, alive)
	sc.must(err)
	return n
}

func rearmFailed(sc *scene) {
	e := newEntry(5)
	e.Keys = []string{"v2", "v1"}
	sc.add(e)
	r := sc.holder(5)
	r.claim(5)
	r.record(5, store.Outcome{ID: e.ID, State: store.Failed, Confirmed: 1, Refused: true, Unknown: true, Class: store.ClassRefused, Error: "full"})
	equal(sc, "rows", sc.rearm(store.Filter{IDs: []string{e.ID}}, r.id), 1)
	row := sc.row(e.ID)
	equal(sc, "state", row.State, store.Pending)
	equal(sc, "confirmed", row.Confirmed, 0)
	equal(sc, "refusals", row.Refusals, 0)
	equal(sc, "unknowns", row.Unknowns, 0)
	equal(sc, "class", row.Class, store.ClassNone)
	equal(sc, "error", row.Error, "")
	same(sc, "claimed", rowIDs(r.claim(5)), []string{e.ID})
	equal(sc, "unknowns", sc.row(e.ID).Unknowns, 0)
}

func rearmOnlyFailed(sc *scene) {
	ids, _ := mixed(sc)
	equal(sc, "rows", sc.rearm(store.Filter{IDs: ids}), 1)
	for i, want := range []store.State{store.Published, store.Pending, store.Publishing, store.Pending} {
		equal(sc, "state", sc.row(ids[i]).State, want)
	}
	equal(sc, "published rows, when told", sc.rearm(store.Filter{State: store.Published}), 0)
	equal(sc, "pending rows, when told", sc.rearm(store.Filter{State: store.Pending}), 0)
}

func rearmLeft(sc *scene) {
	id := sc.add(newEntry(5))[0]
	r := sc.holder(5)
	r.left(r.claim(5)[0])
	equal(sc, "rows, without being told", sc.rearm(store.Filter{}, r.id), 0)
	equal(sc, "rows", sc.rearm(store.Filter{State: store.Publishing}, r.id), 1)
	row := sc.row(id)
	equal(sc, "state", row.State, store.Pending)
	equal(sc, "unknowns", row.Unknowns, 0)
	same(sc, "claimed", rowIDs(r.claim(5)), []string{id})
}

func rearmDead(sc *scene) {
	ids := sc.crashed(5, "mail")
	equal(sc, "rows", sc.rearm(store.Filter{State: store.Publishing}), 1)
	next := sc.holder(5)
	rows := next.claim(5)
	same(sc, "claimed", rowIDs(rows), ids)
	equal(sc, "unknowns", rows[0].Unknowns, 0)
}

func rearmLive(sc *scene) {
	id := sc.add(newEntry(5))[0]
	r := sc.holder(5)
	r.claim(5)
	for _, f := range []store.Filter{{}, {State: store.Publishing}, {IDs: []string{id}}, {IDs: []string{id}, State: store.Publishing}} {
		equal(sc, "rows", sc.rearm(f, r.id), 0)
	}
	equal(sc, "state", sc.row(id).State, store.Publishing)
}

func rearmFilters(sc *scene) {
	r := sc.holder(5)
	a := sc.add(to(5, "a"), to(5, "a"), to(5, "a"))
	r.failed(5, store.ClassMissing)
	b := sc.add(to(5, "b"))
	r.failed(5, store.ClassRefused)
	sc.place.Backdate(sc.T, Created, a[2], time.Hour)
	equal(sc, "by age", sc.rearm(store.Filter{Before: time.Minute}), 1)
	equal(sc, "by destination and limit", sc.rearm(store.Filter{Destination: "a", Limit: 1}), 1)
	equal(sc, "state of the first", sc.row(a[0]).State, store.Pending)
	equal(sc, "by class", sc.rearm(store.Filter{Class: store.ClassRefused}), 1)
	equal(sc, "state", sc.row(b[0]).State, store.Pending)
	equal(sc, "state of the one that is left", sc.row(a[1]).State, store.Failed)
}

func rearmThenRecord(sc *scene) {
	id := sc.add(newEntry(5))[0]
	r := sc.holder(5)
	r.claim(5)
	equal(sc, "rows", sc.rearm(store.Filter{State: store.Publishing}), 1)
	equal(sc, "written", len(r.record(5, store.Outcome{ID: id, State: store.Published, Confirmed: 1})), 0)
	equal(sc, "state", sc.row(id).State, store.Pending)
}
