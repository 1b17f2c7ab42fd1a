package storetest

import (
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var listCases = []testCase{
	{name: "each_filter_selects", run: listFilters},
	{name: "filters_are_all_to_hold", run: listTogether},
	{name: "pages_follow_each_other", run: listPages},
	{name: "an_id_that_is_no_id_is_not_found", run: listNoID},
}

// listed returns the ids that a filter selects.
func (sc *scene) listed(f store.Filter) []string {
	sc.Helper()
	rows, err := sc.s.List(sc.ctx(), f)
	sc.must(err)
	return rowIDs(rows)
}

// mixed is an outbox with a row of each kind: published, failed, publishing,
// pending.
func mixed(sc *scene) (ids []string, r *relay) {
	sc.Helper()
	r = sc.holder(5)
	ids = append(ids, sc.add(to(5, "a"))...)
	r.publish(5)
	ids = append(ids, sc.add(to(5, "a"))...)
	r.failed(5, store.ClassMissing)
	ids = append(ids, sc.add(to(5, "b"))...)
	r.claim(5)
	last := to(5, "b")
	last.Type = "order.paid.v1"
	return append(ids, sc.add(last)...), r
}

func listFilters(sc *scene) {
	ids, _ := mixed(sc)
	sc.place.Backdate(sc.T, Created, ids[1], time.Hour)
	same(sc, "all", sc.listed(store.Filter{}), ids)
	same(sc, "by id", sc.listed(store.Filter{IDs: []string{ids[3], newID(), ids[0]}}), []string{ids[0], ids[3]})
	same(sc, "by state", sc.listed(store.Filter{State: store.Failed}), ids[1:2])
	same(sc, "by destination", sc.listed(store.Filter{Destination: "b"}), ids[2:])
	same(sc, "by class", sc.listed(store.Filter{Class: store.ClassMissing}), ids[1:2])
	same(sc, "by type", sc.listed(store.Filter{Type: "order.paid.v1"}), ids[3:])
	same(sc, "by age", sc.listed(store.Filter{Before: time.Minute}), ids[1:2])
	same(sc, "by something that is not there", sc.listed(store.Filter{Destination: "c"}), nil)
}

func listTogether(sc *scene) {
	ids, _ := mixed(sc)
	same(sc, "two filters", sc.listed(store.Filter{Destination: "b", State: store.Pending}), ids[3:])
	same(sc, "two that contradict", sc.listed(store.Filter{IDs: ids[:1], State: store.Pending}), nil)
}

func listPages(sc *scene) {
	ids := sc.add(entries(5, 5)...)
	var got []string
	f := store.Filter{Limit: 2}
	for range 3 {
		rows, err := sc.s.List(sc.ctx(), f)
		sc.must(err)
		got = append(got, rowIDs(rows)...)
		f.After = rows[len(rows)-1].Seq
	}
	same(sc, "all pages", got, ids)
	equal(sc, "after the last", len(sc.listed(f)), 0)
}

func listNoID(sc *scene) {
	sc.add(newEntry(5))
	for _, id := range []string{newID(), "", "order-1", "'; --", "\x00"} {
		_, err := sc.s.Row(sc.ctx(), id)
		sc.is(err, store.ErrNotFound)
		equal(sc, "listed", len(sc.listed(store.Filter{IDs: []string{id}})), 0)
	}
}
