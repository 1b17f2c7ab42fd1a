package storetest

import (
	"github.com/holdfast-mq/holdfast/store"
)

var foreignCases = []testCase{
	{name: "a_foreign_row_stops_no_other", run: foreignStopsNobody},
	{name: "a_foreign_row_is_seen", run: foreignSeen},
}

func foreignStopsNobody(sc *scene) {
	first := sc.add(keyed(5, "k"))
	sc.place.Foreign(sc.T, 5)
	ids := append(first, sc.add(keyed(5, "k"), newEntry(5))...)
	r := sc.holder(5)
	published := map[string]bool{}
	for _, row := range r.publish(5) {
		published[row.ID] = true
	}
	for _, id := range ids {
		equal(sc, "published", published[id], true)
		equal(sc, "state", sc.row(id).State, store.Published)
	}
	equal(sc, "lanes that are due", len(sc.due(r.of(5))), 0)
	sc.stuck(0, []string{r.id}, 100)
	_, err := sc.s.Prune(sc.ctx(), 0, 100, func([]store.Row) error { return nil })
	sc.must(err)
	sc.rearm(store.Filter{})
}

func foreignSeen(sc *scene) {
	n := sc.place.Foreign(sc.T, 5)
	equal(sc, "listed", len(sc.listed(store.Filter{})), n)
	count := 0
	for _, g := range sc.groups() {
		count += g.Count
	}
	equal(sc, "counted", count, n)
}
