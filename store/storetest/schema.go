package storetest

import (
	"strings"

	"github.com/holdfast-mq/holdfast/store"
)

var schemaCases = []testCase{
	{name: "check_accepts_what_migrate_makes", run: func(sc *scene) { sc.must(sc.s.Check(sc.ctx())) }},
	{name: "missing_tables_are_named_with_what_to_run", bare: true, run: missingTables},
	{name: "migrating_twice_is_once", run: migrateTwice},
	{name: "two_who_migrate_at_once_do_it_once", bare: true, run: migrateAtOnce},
	{name: "rollback_removes_all_and_migrate_makes_it_again", run: rollBack},
	{name: "a_drifted_column_is_named", run: driftedColumn},
	{name: "tables_of_an_older_version_are_refused", run: olderVersion},
}

func missingTables(sc *scene) {
	err := sc.s.Check(sc.ctx())
	sc.is(err, store.ErrSchema)
	if !strings.Contains(err.Error(), "migrate") {
		sc.Fatalf("the error does not say what to run: %v", err)
	}
	_, err = sc.s.Status(sc.ctx())
	sc.is(err, store.ErrSchema)
}

func migrateTwice(sc *scene) {
	id := sc.add(newEntry(1))[0]
	sc.must(sc.s.Migrate(sc.ctx()))
	sc.must(sc.s.Check(sc.ctx()))
	equal(sc, "state", sc.row(id).State, store.Pending)
}

func migrateAtOnce(sc *scene) {
	const processes = 4
	ended := make(chan error, processes)
	for range processes {
		s, ctx := sc.open(), sc.ctx()
		go func() { ended <- s.Migrate(ctx) }()
	}
	for range processes {
		sc.must(within(sc, "the migration", ended))
	}
	sc.must(sc.s.Check(sc.ctx()))
	sc.add(newEntry(1))
}

func rollBack(sc *scene) {
	sc.add(newEntry(1))
	sc.must(sc.s.Rollback(sc.ctx()))
	sc.is(sc.s.Check(sc.ctx()), store.ErrSchema)
	sc.must(sc.s.Rollback(sc.ctx()))
	sc.must(sc.s.Migrate(sc.ctx()))
	sc.must(sc.s.Check(sc.ctx()))
	rows, err := sc.s.List(sc.ctx(), store.Filter{})
	sc.must(err)
	equal(sc, "rows", len(rows), 0)
}

func driftedColumn(sc *scene) {
	name := sc.place.Drift(sc.T)
	err := sc.s.Check(sc.ctx())
	sc.is(err, store.ErrSchema)
	if !strings.Contains(err.Error(), name) {
		sc.Fatalf("the error does not name %q: %v", name, err)
	}
}

func olderVersion(sc *scene) {
	sc.place.Older(sc.T)
	err := sc.s.Check(sc.ctx())
	sc.is(err, store.ErrSchema)
	if !strings.Contains(err.Error(), "migrate") {
		sc.Fatalf("the error does not say what to run: %v", err)
	}
}
