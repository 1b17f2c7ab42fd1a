package storetest

import (
	"context"
	"slices"
	"testing"

	"github.com/holdfast-mq/holdfast/store"
)

var addCases = []testCase{
	{name: "a_commit_shows_the_row", run: eachKind(commitShows)},
	{name: "a_rollback_leaves_nothing", run: eachKind(rollbackLeavesNothing)},
	{name: "no_entries_are_nothing", run: eachKind(addNothing)},
	{name: "many_entries_keep_their_order", run: eachKind(addMany)},
	{name: "an_id_twice_is_a_duplicate", run: eachKind(addTwice)},
	{name: "an_id_twice_in_one_call_is_a_duplicate", run: eachKind(addTwiceAtOnce)},
	{name: "what_can_never_work_is_refused_before_it_is_sent", run: eachKind(addImpossible)},
}

// eachKind runs a case for each kind of transaction that the store wraps.
func eachKind(run func(sc *scene, kind string)) func(*scene) {
	return func(sc *scene) {
		for _, kind := range sc.kinds() {
			sc.Run(kind, func(t *testing.T) { run(&scene{T: t, env: sc.env, place: sc.place, s: sc.s}, kind) })
		}
	}
}

func commitShows(sc *scene, kind string) {
	tx := sc.beginKind(kind)
	e := newEntry(3)
	sc.must(tx.AddOutbox(sc.ctx(), []store.Entry{e}))
	_, err := sc.s.Row(sc.ctx(), e.ID)
	sc.is(err, store.ErrNotFound)
	sc.must(tx.Commit(sc.ctx()))
	row := sc.row(e.ID)
	equal(sc, "state", row.State, store.Pending)
	equal(sc, "lane", row.Lane, 3)
	if row.Seq <= 0 || row.CreatedAt.IsZero() || !row.PublishingSince.IsZero() || !row.PublishedAt.IsZero() || !row.ErrorAt.IsZero() {
		sc.Fatalf("a new row is %+v", row)
	}
}

func rollbackLeavesNothing(sc *scene, kind string) {
	tx := sc.beginKind(kind)
	e := newEntry(3)
	sc.must(tx.AddOutbox(sc.ctx(), []store.Entry{e}))
	sc.must(tx.Rollback(sc.ctx()))
	_, err := sc.s.Row(sc.ctx(), e.ID)
	sc.is(err, store.ErrNotFound)
}

func addNothing(sc *scene, kind string) {
	tx := sc.beginKind(kind)
	sc.must(tx.AddOutbox(sc.ctx(), nil))
	sc.must(tx.Commit(sc.ctx()))
}

// addMany adds more entries than a statement may have parameters.
func addMany(sc *scene, kind string) {
	many := entries(5000, 7)
	tx := sc.beginKind(kind)
	sc.must(tx.AddOutbox(sc.ctx(), many))
	sc.must(tx.Commit(sc.ctx()))
	rows, err := sc.s.List(sc.ctx(), store.Filter{IDs: entryIDs(many), Limit: len(many) + 1})
	sc.must(err)
	same(sc, "rows in the order of Seq", rowIDs(rows), entryIDs(many))
}

func addTwice(sc *scene, kind string) {
	e := newEntry(1)
	sc.add(e)
	again := e
	again.Payload = []byte("another")
	fresh := newEntry(1)
	tx := sc.beginKind(kind)
	sc.is(tx.AddOutbox(sc.ctx(), []store.Entry{fresh, again}), store.ErrDuplicate)
	sc.must(tx.Rollback(sc.ctx()))
	equal(sc, "payload", string(sc.row(e.ID).Payload), string(e.Payload))
	_, err := sc.s.Row(sc.ctx(), fresh.ID)
	sc.is(err, store.ErrNotFound)
}

func addTwiceAtOnce(sc *scene, kind string) {
	e := newEntry(1)
	tx := sc.beginKind(kind)
	sc.is(tx.AddOutbox(sc.ctx(), []store.Entry{e, e}), store.ErrDuplicate)
	sc.must(tx.Rollback(sc.ctx()))
	_, err := sc.s.Row(sc.ctx(), e.ID)
	sc.is(err, store.ErrNotFound)
}

// impossible are changes that make an entry one that can never be kept.
var impossible = map[string]func(e *store.Entry){
	"no id":               func(e *store.Entry) { e.ID = "" },
	"an id that is no id": func(e *store.Entry) { e.ID = "order-1" },
	"an id in capitals":   func(e *store.Entry) { e.ID = "0192F0C1-0000-7000-8000-00000000000A" },
	"a lane below":        func(e *store.Entry) { e.Lane = -1 },
	"a lane above":        func(e *store.Entry) { e.Lane = store.Lanes },
	"no key":              func(e *store.Entry) { e.Keys = nil },
	"too many keys":       func(e *store.Entry) { e.Keys = slices.Repeat([]string{"k"}, store.MaxKeys+1) },
	"a zero byte in text": func(e *store.Entry) { e.Destination = "a\x00b" },
	"text that is not":    func(e *store.Entry) { e.Headers = map[string]string{"a": "\xff"} },
}

// addImpossible proves too that the caller's transaction is not harmed.
func addImpossible(sc *scene, kind string) {
	tx := sc.beginKind(kind)
	for what, spoil := range impossible {
		e := newEntry(1)
		spoil(&e)
		sc.Log(what)
		sc.is(tx.AddOutbox(context.Background(), []store.Entry{newEntry(1), e}), store.ErrConfig)
	}
	good := newEntry(1)
	sc.must(tx.AddOutbox(sc.ctx(), []store.Entry{good}))
	sc.must(tx.Commit(sc.ctx()))
	rows, err := sc.s.List(sc.ctx(), store.Filter{})
	sc.must(err)
	same(sc, "rows of this transaction", after(rowIDs(rows), good.ID), nil)
	sc.row(good.ID)
}

// after is what follows id.
func after(ids []string, id string) []string {
	i := slices.Index(ids, id)
	return ids[i+1:]
}
