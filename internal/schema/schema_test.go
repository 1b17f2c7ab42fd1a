package schema

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	_ "modernc.org/sqlite" // an in-process database, to run migrations on

	"github.com/holdfast-mq/holdfast/store"
)

func testSet(files ...string) Set {
	s := Set{Dialect: SQLite, Values: map[string]string{"Prefix": "hf_"}, Versions: "hf_migrations"}
	tables := fstest.MapFS{}
	for _, name := range files {
		table := strings.TrimSuffix(name[6:], ".sql")
		tables[name] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE {{.Prefix}}" + table + " (id integer);\n\n" +
			"-- +goose Down\nDROP TABLE {{.Prefix}}" + table + ";\n")}
	}
	s.Files = tables
	return s
}

func openDB(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(60000)&_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func tables(t *testing.T, db *sql.DB) []string {
	t.Helper()
	rows, err := db.Query("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
	must(t, err)
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		names = append(names, name)
	}
	return names
}

func TestUpDownUp(t *testing.T) {
	ctx, db, s := context.Background(), openDB(t, filepath.Join(t.TempDir(), "db")), testSet("00001_a.sql", "00002_b.sql")
	must(t, s.Down(ctx, db)) // of nothing
	for range 2 {
		must(t, s.Up(ctx, db))
		must(t, s.Up(ctx, db))
		if got := tables(t, db); !slices.Equal(got, []string{"hf_a", "hf_b", "hf_migrations"}) {
			t.Fatalf("up: %v", got)
		}
		must(t, s.Down(ctx, db))
		if got := tables(t, db); len(got) > 0 {
			t.Fatalf("down: %v", got)
		}
	}
}

func TestTheScriptMakesTheSame(t *testing.T) {
	ctx, db, s := context.Background(), openDB(t, filepath.Join(t.TempDir(), "db")), testSet("00001_a.sql", "00002_b.sql")
	up, err := s.Script(false)
	must(t, err)
	_, err = db.Exec(up)
	must(t, err)
	must(t, s.Verify(ctx, db, nil, func(context.Context) ([]Object, error) { return nil, nil }))
	must(t, s.Up(ctx, db))
	down, err := s.Script(true)
	must(t, err)
	_, err = db.Exec(down)
	must(t, err)
	if got := tables(t, db); len(got) > 0 {
		t.Fatalf("down: %v", got)
	}
}

func TestManyWhoMigrateAtOnceDoItOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	must(t, openDB(t, path).Ping())
	s := testSet("00001_a.sql", "00002_b.sql", "00003_c.sql")
	errs := make([]error, 4)
	var all sync.WaitGroup
	for i := range errs {
		db := openDB(t, path)
		all.Go(func() { errs[i] = s.Up(context.Background(), db) })
	}
	all.Wait()
	must(t, errors.Join(errs...))
}

func TestVersionsAreTold(t *testing.T) {
	ctx, db := context.Background(), openDB(t, filepath.Join(t.TempDir(), "db"))
	old, now := testSet("00001_a.sql"), testSet("00001_a.sql", "00002_b.sql")
	verify := func(s Set, there ...Object) error {
		return s.Verify(ctx, db, []Object{{"column a.id", "integer"}, {"column a.b", "text"}},
			func(context.Context) ([]Object, error) { return there, nil })
	}
	same := []Object{{"column a.id", "integer"}, {"column a.b", "text"}}
	expect := func(err error, parts ...string) {
		t.Helper()
		if !errors.Is(err, store.ErrSchema) {
			t.Fatalf("the error is %v", err)
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in: %v", part, err)
			}
		}
	}
	expect(verify(now, same...), "not there", "holdfast migrate")
	must(t, old.Up(ctx, db))
	must(t, verify(old, same...))
	expect(verify(now, same...), "version 1", "needs 2", "holdfast migrate")
	must(t, now.Up(ctx, db))
	expect(verify(old, same...), "version 2", "knows 1")
	expect(verify(now, Object{"column a.id", "text"}, Object{"column a.c", "integer"}),
		`column a.id is "text" and should be "integer"`, "column a.b is missing (text)", "column a.c is not ours (integer)")
}

func TestAValueThatIsMissingIsAnError(t *testing.T) {
	s := testSet("00001_a.sql")
	s.Values = nil
	if _, err := s.Script(false); err == nil {
		t.Error("a script without its values")
	}
	if err := s.Up(context.Background(), openDB(t, filepath.Join(t.TempDir(), "db"))); err == nil {
		t.Error("a migration without its values")
	}
}

func TestAMigrationThatFailsLeavesNothingOfItself(t *testing.T) {
	ctx, db, s := context.Background(), openDB(t, filepath.Join(t.TempDir(), "db")), testSet("00001_a.sql", "00002_b.sql")
	must(t, s.Up(ctx, db))
	files := testSet("00001_a.sql", "00002_b.sql", "00003_c.sql").Files.(fstest.MapFS)
	files["00003_c.sql"].Data = []byte("-- +goose Up\nCREATE TABLE c (id integer);\nCREATE TABLE hf_a (id integer);\n\n-- +goose Down\nDROP TABLE c;\n")
	s.Files = files
	if err := s.Up(ctx, db); err == nil {
		t.Fatal("no error")
	}
	if got := tables(t, db); slices.Contains(got, "c") {
		t.Fatalf("half of a migration is there: %v", got)
	}
}

func TestObjectsAreWrittenAndReadBack(t *testing.T) {
	objects := []Object{{"column a.id", "integer not null"}, {"index a_b", "on a (b) where c: d"}}
	if got := Parse(Format(objects)); !slices.Equal(got, objects) {
		t.Errorf("%v", got)
	}
}
