package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var pruneCases = []testCase{
	{name: "removes_the_oldest_published_rows", run: pruneOldest},
	{name: "removes_nothing_else", run: pruneNothingElse},
	{name: "hands_whole_rows_to_be_kept", run: pruneKeeps},
	{name: "an_error_of_keep_removes_nothing", run: pruneKeepFails},
}

// published commits n rows and publishes them, each an hour after the one
// before, the last of them an hour ago.
func (sc *scene) published(n int) []string {
	sc.Helper()
	ids := sc.add(entries(n, 5)...)
	sc.holder(5).publish(5)
	for i, id := range ids {
		sc.place.Backdate(sc.T, Published, id, time.Duration(n-i)*time.Hour)
	}
	return ids
}

func pruneOldest(sc *scene) {
	ids := sc.published(4)
	n, err := sc.s.Prune(sc.ctx(), 90*time.Minute, 2, nil)
	sc.must(err)
	equal(sc, "removed", n, 2)
	same(sc, "what is left", sc.listed(store.Filter{}), ids[2:])
	n, err = sc.s.Prune(sc.ctx(), 90*time.Minute, 2, nil)
	sc.must(err)
	equal(sc, "removed", n, 1)
	same(sc, "what is left", sc.listed(store.Filter{}), ids[3:])
}

func pruneNothingElse(sc *scene) {
	ids, _ := mixed(sc)
	for _, id := range ids {
		sc.place.Backdate(sc.T, Created, id, 1000*time.Hour)
	}
	sc.place.Backdate(sc.T, Published, ids[0], 1000*time.Hour)
	n, err := sc.s.Prune(sc.ctx(), time.Hour, 100, nil)
	sc.must(err)
	equal(sc, "removed", n, 1)
	same(sc, "what is left", sc.listed(store.Filter{}), ids[1:])
}

func pruneKeeps(sc *scene) {
	ids := sc.published(3)
	var kept []store.Row
	n, err := sc.s.Prune(sc.ctx(), time.Minute, 100, func(rows []store.Row) error {
		kept = slices.Clone(rows)
		return nil
	})
	sc.must(err)
	equal(sc, "removed", n, 3)
	same(sc, "kept", rowIDs(kept), ids)
	equal(sc, "payload", string(kept[0].Payload), `{"n":1}`)
	equal(sc, "state", kept[0].State, store.Published)
}

func pruneKeepFails(sc *scene) {
	ids := sc.published(2)
	full := errors.New("the archive is full")
	n, err := sc.s.Prune(sc.ctx(), time.Minute, 100, func([]store.Row) error { return full })
	sc.is(err, full)
	equal(sc, "removed", n, 0)
	same(sc, "what is left", sc.listed(store.Filter{}), ids)
}
