package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/store"
	driver "github.com/holdfast-mq/holdfast/store/sqlite"
)

// TestScript proves that the printed scripts make and remove what Migrate and
// Rollback do, and that a store accepts what they made.
func TestScript(t *testing.T) {
	layout := driver.Layout{Prefix: "mq_"}
	path := filepath.Join(t.TempDir(), "script.db")
	db := openDB(t, path)
	run := func(down bool) {
		t.Helper()
		script, err := driver.Script(layout, down)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(script); err != nil {
			t.Fatalf("%v\n%s", err, script)
		}
	}
	run(false)
	s := open(t, driver.Config{Path: path, Layout: layout})
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	printed := objects(t, db)
	if err := s.Migrate(t.Context()); err != nil {
		t.Errorf("migrating what the script made: %v", err)
	}
	run(true)
	if left := objects(t, db); left != "" {
		t.Errorf("the script that removes all leaves\n%s", left)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if migrated := objects(t, db); migrated != printed {
		t.Errorf("the script makes\n%s\nand Migrate\n%s", printed, migrated)
	}
	if _, err := driver.Script(driver.Layout{Prefix: "A"}, false); !errors.Is(err, store.ErrConfig) {
		t.Errorf("a script of a bad prefix: %v", err)
	}
}

// objects are all tables and indexes, as SQLite keeps them.
func objects(t *testing.T, db *sql.DB) string {
	t.Helper()
	rows, err := db.Query(`SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all strings.Builder
	for rows.Next() {
		var statement string
		if err := rows.Scan(&statement); err != nil {
			t.Fatal(err)
		}
		all.WriteString(strings.Join(strings.Fields(statement), " ") + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestCheckNames proves that each difference that matters is named, all at
// once, and what does not matter is let be.
func TestCheckNames(t *testing.T) {
	s, path := migrated(t)
	db := openDB(t, path)
	exec := func(statement string) {
		t.Helper()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	exec(`ALTER TABLE holdfast_outbox ADD COLUMN tenant TEXT`)
	exec(`CREATE INDEX by_tenant ON holdfast_outbox (tenant)`)
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("a column and an index of the user's own: %v", err)
	}
	exec(`DROP INDEX holdfast_outbox_open`)
	exec(`ALTER TABLE holdfast_inbox RENAME COLUMN replay TO replayed`)
	exec(`CREATE UNIQUE INDEX one_for_each ON holdfast_outbox (ordering_key)`)
	exec(`DROP TABLE holdfast_marks`)
	err := s.Check(t.Context())
	if !errors.Is(err, store.ErrSchema) {
		t.Fatalf("Check: %v", err)
	}
	for _, name := range []string{"index outbox_open is missing", "column inbox.replay is missing", "index one_for_each is not ours", "column marks.sequence is missing"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not say %q: %v", name, err)
		}
	}
}

// TestNewerVersion proves that a program of before does not work on tables that
// it does not know.
func TestNewerVersion(t *testing.T) {
	s, path := migrated(t)
	if _, err := openDB(t, path).Exec(`INSERT INTO holdfast_migrations (version_id, is_applied) VALUES (999, true)`); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), "newer") {
		t.Errorf("Check: %v", err)
	}
}
