package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/store"
	driver "github.com/holdfast-mq/holdfast/store/sqlite"
)

func newEntry(lane int) store.Entry {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return store.Entry{
		ID:   fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]),
		Lane: lane, Destination: "orders", Keys: []string{"order.placed.v1"}, Payload: []byte("{}"),
	}
}

// connect opens a file as a service might, with options of the driver.
func connect(t *testing.T, path, options string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, options))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// add commits an entry in a transaction of the caller.
func add(db *sql.DB, entries ...store.Entry) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := (driver.Layout{}).Tx(tx).AddOutbox(context.Background(), entries); err != nil {
		return err
	}
	return tx.Commit()
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "a.db")
	for name, c := range map[string]struct {
		config driver.Config
		class  error
		says   string
	}{
		"nothing":           {driver.Config{}, store.ErrConfig, "one of Path and DB"},
		"both":              {driver.Config{Path: file, DB: connect(t, file, "_pragma=busy_timeout(9)")}, store.ErrConfig, "one of Path and DB"},
		"a_bad_prefix":      {driver.Config{Path: file, Layout: driver.Layout{Prefix: `a"b`}}, store.ErrConfig, "prefix"},
		"a_taken_prefix":    {driver.Config{Path: file, Layout: driver.Layout{Prefix: "sqlite_"}}, store.ErrConfig, "sqlite_"},
		"a_long_prefix":     {driver.Config{Path: file, Layout: driver.Layout{Prefix: strings.Repeat("a", 41)}}, store.ErrConfig, "40"},
		"no_folder":         {driver.Config{Path: filepath.Join(dir, "none", "a.db")}, store.ErrUnreachable, "folder"},
		"no_database":       {driver.Config{Path: text}, store.ErrRefused, "no SQLite database"},
		"a_DB_without_wait": {driver.Config{DB: connect(t, file, "")}, store.ErrConfig, "busy_timeout(5000)"},
		"a_relaxed_DB":      {driver.Config{DB: connect(t, file, "_pragma=busy_timeout(9)"), Relaxed: true}, store.ErrConfig, "DSN"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := driver.Open(t.Context(), c.config)
			if s != nil || !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Open returns %v; want the class %q and the words %q", err, c.class, c.says)
			}
		})
	}
}

// TestTxOfABadLayout proves that a prefix that comes from a configuration never
// gets into SQL.
func TestTxOfABadLayout(t *testing.T) {
	_, path := migrated(t)
	tx, err := openDB(t, path).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	wrapped := driver.Layout{Prefix: `x; DROP TABLE holdfast_outbox; --`}.Tx(tx)
	_, _, record := wrapped.RecordInbox(t.Context(), store.Handled{Consumer: "c", ID: "1"})
	_, _, lock := wrapped.LockMark(t.Context(), "c", "a")
	for call, err := range map[string]error{
		"AddOutbox":   wrapped.AddOutbox(t.Context(), []store.Entry{newEntry(0)}),
		"RecordInbox": record, "LockMark": lock,
		"ForgetInbox": wrapped.ForgetInbox(t.Context(), "c", "1"),
		"SetMark":     wrapped.SetMark(t.Context(), "c", "a", store.Mark{}),
		"PutAside":    wrapped.PutAside(t.Context(), store.Aside{}),
	} {
		if !errors.Is(err, store.ErrConfig) {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func TestTwoLayoutsInOneFile(t *testing.T) {
	a, path := migrated(t)
	b := open(t, driver.Config{Path: path, Layout: driver.Layout{Prefix: "other_"}})
	if err := b.Check(t.Context()); !errors.Is(err, store.ErrSchema) {
		t.Errorf("Check before migrating: %v", err)
	}
	if err := b.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := newEntry(0)
	if err := add(openDB(t, path), e); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Row(t.Context(), e.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the other layout: %v", err)
	}
	if err := b.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Row(t.Context(), e.ID); err != nil {
		t.Error(err)
	}
	if err := a.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFullDisk proves that a disk without room loses nothing: the transaction
// fails as a whole with a clear error, what was committed stays, and with room
// again all goes on.
func TestFullDisk(t *testing.T) {
	s, path := migrated(t)
	db := connect(t, path, "_txlock=immediate&_pragma=busy_timeout(60000)")
	db.SetMaxOpenConns(1)
	limit := func(pages int) {
		t.Helper()
		var now int
		if err := db.QueryRow(fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&now); err != nil {
			t.Fatal(err)
		}
	}
	before := newEntry(0)
	if err := add(db, before); err != nil {
		t.Fatal(err)
	}
	limit(1) // as many as there are
	small, big := newEntry(0), newEntry(0)
	big.Payload = make([]byte, 1<<20)
	err := add(db, small, big)
	if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), "room") {
		t.Fatalf("adding to a full file: %v", err)
	}
	for _, id := range []string{small.ID, big.ID} {
		if _, err := s.Row(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a row of the transaction that failed: %v", err)
		}
	}
	if _, err := s.Row(t.Context(), before.ID); err != nil {
		t.Error(err)
	}
	limit(1 << 30)
	if err := add(db, small, big); err != nil {
		t.Fatal(err)
	}
}

// TestFullDiskForTheStore proves the same of the store's own transactions.
func TestFullDiskForTheStore(t *testing.T) {
	_, path := migrated(t)
	db := connect(t, path, "_pragma=busy_timeout(60000)&_pragma=max_page_count(1)")
	s := open(t, driver.Config{DB: db})
	var err error
	for i := 0; err == nil && i < 10_000; i++ {
		err = s.WithInbox(t.Context(), func(tx store.InboxTx) error {
			_, _, err := tx.RecordInbox(t.Context(), store.Handled{Consumer: "c", ID: fmt.Sprintf("%d-%01000d", i, 0)})
			return err
		})
	}
	if !errors.Is(err, store.ErrFull) {
		t.Fatalf("writing to a full file: %v", err)
	}
	if _, err := s.Status(t.Context()); err != nil {
		t.Errorf("reading a full file: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	_, path := migrated(t)
	s := open(t, driver.Config{DB: connect(t, path, "_pragma=busy_timeout(9)&_pragma=query_only(1)")})
	if err := s.Check(t.Context()); !errors.Is(err, store.ErrFull) {
		t.Errorf("Check: %v", err)
	}
	if _, err := s.Beat(t.Context(), store.Relay{ID: "r"}); !errors.Is(err, store.ErrFull) {
		t.Errorf("Beat: %v", err)
	}
}

// TestBusy proves that who waits in vain for another writer is told so, and
// that nothing was written.
func TestBusy(t *testing.T) {
	_, path := migrated(t)
	s := open(t, driver.Config{DB: connect(t, path, "_pragma=busy_timeout(20)")})
	stranger, err := openDB(t, path).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Rollback() }()
	if _, err := s.Beat(t.Context(), store.Relay{ID: "r"}); !errors.Is(err, store.ErrBusy) {
		t.Errorf("Beat: %v", err)
	}
	standing, err := s.Status(t.Context())
	if err != nil || len(standing.Relays) != 0 {
		t.Errorf("reading meanwhile: %v, %v", standing.Relays, err)
	}
	if err := stranger.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Beat(t.Context(), store.Relay{ID: "r"}); err != nil {
		t.Error(err)
	}
}

// TestReadThenWrite proves that a transaction that SQLite refuses at once says
// what to change.
func TestReadThenWrite(t *testing.T) {
	_, path := migrated(t)
	tx, err := connect(t, path, "_pragma=busy_timeout(60000)").Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM holdfast_outbox").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if err := add(openDB(t, path), newEntry(0)); err != nil {
		t.Fatal(err)
	}
	err = driver.Layout{}.Tx(tx).AddOutbox(t.Context(), []store.Entry{newEntry(0)})
	if !errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), "_txlock=immediate") {
		t.Errorf("writing after reading: %v", err)
	}
}

// TestOneConnection proves that a store on the caller's only connection takes
// its turn.
func TestOneConnection(t *testing.T) {
	_, path := migrated(t)
	db := openDB(t, path)
	db.SetMaxOpenConns(1)
	s := open(t, driver.Config{DB: db})
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Status(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the caller has the connection: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	s.Close()
	if err := db.Ping(); err != nil {
		t.Errorf("the caller's DB after Close: %v", err)
	}
}

// TestInMemory proves that a service's tests can do without a file.
func TestInMemory(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	s := open(t, driver.Config{DB: db})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := add(db, newEntry(0)); err != nil {
		t.Error(err)
	}
	if err := s.Wait(t.Context(), time.Millisecond); err != nil {
		t.Error(err)
	}
}

// TestLockMarkOfADeferredTransaction proves that a mark is locked also where the
// caller's transaction began without the right to write.
func TestLockMarkOfADeferredTransaction(t *testing.T) {
	s, path := migrated(t)
	tx, err := connect(t, path, "_pragma=busy_timeout(60000)").Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, _, err := (driver.Layout{}).Tx(tx).LockMark(t.Context(), "billing", "order-1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err = s.WithInbox(ctx, func(tx store.InboxTx) error {
		_, _, err := tx.LockMark(ctx, "billing", "order-1")
		return err
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second who locks it: %v", err)
	}
}

// TestWaitMissesNothingAfterDue proves that no commit falls between the last
// look of a relay and its sleep, and that it does sleep.
func TestWaitMissesNothingAfterDue(t *testing.T) {
	s, path := migrated(t)
	if _, err := s.Due(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	const nap = 50 * time.Millisecond
	began := time.Now()
	if err := s.Wait(t.Context(), nap); err != nil || time.Since(began) < nap {
		t.Errorf("without a commit it waited for %v, %v", time.Since(began), err)
	}
	if err := add(openDB(t, path), newEntry(0)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Wait(ctx, time.Hour); err != nil {
		t.Errorf("the wait: %v", err)
	}
}
