// Package sqlite runs the suite of stores on SQLite, and what a file must
// survive: several processes, kills, a full disk.
package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	driver "github.com/holdfast-mq/holdfast/store/sqlite"
	"github.com/holdfast-mq/holdfast/store/storetest"
)

// Env is SQLite for the suite of stores. Each place is a file of its own.
func Env() storetest.Env {
	return storetest.Env{Name: "SQLite", LocksWhole: true, New: func(t *testing.T) storetest.Place { return newPlace(t, false) }}
}

// SharedEnv is the same where store and service share the service's own
// connections.
func SharedEnv() storetest.Env {
	return storetest.Env{Name: "SQLite, the caller's DB", LocksWhole: true, New: func(t *testing.T) storetest.Place { return newPlace(t, true) }}
}

// place is a file, with a service's own connections to it.
type place struct {
	path string
	db   *sql.DB
}

func newPlace(t *testing.T, shared bool) storetest.Place {
	p := &place{path: filepath.Join(t.TempDir(), "a ü?#%.db")}
	p.db = openDB(t, p.path)
	return storetest.Place{
		Open: func(t *testing.T) (storetest.Store, func()) {
			c := driver.Config{Path: p.path}
			if shared {
				c = driver.Config{DB: p.db}
			}
			s, err := driver.Open(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			return s, s.Close
		},
		Begin:    map[string]func(t *testing.T) storetest.Tx{"*sql.Tx": p.begin},
		Backdate: p.backdate,
		Foreign:  p.foreign,
		Drift:    p.drift,
		Older:    p.older,
	}
}

// openDB opens a file as docs/sqlite.md tells a service to, but waits for longer:
// a test may run on a machine with much to do.
func openDB(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, "_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// dsn escapes what in a path would begin the options.
func dsn(path, options string) string {
	u := url.URL{Scheme: "file", Path: path, RawQuery: options}
	return u.String()
}

func (p *place) begin(t *testing.T) storetest.Tx {
	t.Helper()
	tx, err := p.db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return storetest.Tx{
		Writes:   driver.Layout{}.Tx(tx),
		Commit:   func(context.Context) error { return tx.Commit() },
		Rollback: func(context.Context) error { return tx.Rollback() },
	}
}

// exec changes what is there by hand.
func (p *place) exec(t *testing.T, statement string, args ...any) error {
	t.Helper()
	_, err := p.db.ExecContext(context.Background(), statement, args...)
	return err
}

func (p *place) mustExec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if err := p.exec(t, statement, args...); err != nil {
		t.Fatal(err)
	}
}

func (p *place) backdate(t *testing.T, m storetest.Moment, id string, by time.Duration) {
	t.Helper()
	column := map[storetest.Moment][2]string{
		storetest.Created:   {"outbox", "created_at"},
		storetest.Claimed:   {"outbox", "publishing_since"},
		storetest.Published: {"outbox", "published_at"},
		storetest.Handled:   {"inbox", "at"},
		storetest.SetAside:  {"set_aside", "at"},
	}[m]
	p.mustExec(t, fmt.Sprintf("UPDATE holdfast_%s SET %s = %[2]s - ? WHERE id = ?", column[0], column[1]), by.Microseconds(), id)
}

// foreign leaves to the tables what they refuse.
func (p *place) foreign(t *testing.T, lane int) (written int) {
	t.Helper()
	for i, row := range []struct {
		lane                 int
		state, keys, headers string
	}{
		{lane, "pending", `["k"]`, `{"n": 7, "nested": {"a": [1, null]}, "none": null}`},
		{lane, "pending", `[1, null]`, `{}`},
		{lane, "archived", `["k"]`, `{}`},
		{99, "pending", `["k"]`, `{}`},
		{lane, "pending", `no json`, `{}`},
		{lane, "pending", `["k"]`, `[]`},
	} {
		err := p.exec(t, `INSERT INTO holdfast_outbox (id, lane, state, destination, keys, headers, payload) VALUES (?, ?, ?, 'orders', ?, ?, x'00')`,
			fmt.Sprintf("by hand %d", i), row.lane, row.state, row.keys, row.headers)
		if err == nil {
			written++
		}
	}
	if written != 2 {
		t.Fatalf("%d foreign rows were written, want 2", written)
	}
	return written
}

func (p *place) drift(t *testing.T) string {
	t.Helper()
	p.mustExec(t, `ALTER TABLE holdfast_outbox RENAME COLUMN error TO error_text`)
	return "outbox.error"
}

func (p *place) older(t *testing.T) {
	t.Helper()
	p.mustExec(t, `DROP TABLE holdfast_set_aside`)
	p.mustExec(t, `DELETE FROM holdfast_migrations WHERE version_id = (SELECT max(version_id) FROM holdfast_migrations)`)
}
