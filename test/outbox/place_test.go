package outbox_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/postgres"
	"github.com/holdfast-mq/holdfast/store/sqlite"
)

// patience is far above what anything here takes on a loaded machine.
const patience = 2 * time.Minute

// place is an outbox of a test's own, and how a producer adds to it.
type place struct {
	store.Outbox
	job job // for a process on the same rows

	// within runs f in a transaction of the producer's own.
	within func(ctx context.Context, f func(store.OutboxTx) error) error
}

// eachPlace runs f on every kind of database.
func eachPlace(t *testing.T, f func(t *testing.T, p place)) {
	t.Run("sqlite", func(t *testing.T) { f(t, onSQLite(t)) })
	t.Run("postgres", func(t *testing.T) { f(t, onPostgres(t)) })
}

func onSQLite(t *testing.T) place {
	t.Helper()
	file := filepath.Join(t.TempDir(), "outbox.db")
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(30000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return place{s, job{SQLite: file}, func(ctx context.Context, f func(store.OutboxTx) error) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after a commit it changes nothing
		if err := f(s.Tx(tx)); err != nil {
			return err
		}
		return tx.Commit()
	}}
}

func onPostgres(t *testing.T) place {
	t.Helper()
	url := testenv.NeedPostgres(t).URL
	schema := "relay_" + strings.ToLower(rand.Text()[:12])
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url, Layout: postgres.Layout{Schema: schema}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
		pool.Close()
	})
	return place{s, job{Postgres: url, Schema: schema}, func(ctx context.Context, f func(store.OutboxTx) error) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return f(s.Tx(tx)) })
	}}
}

// add writes messages in a transaction of their own.
func (p place) add(t testing.TB, messages ...outbox.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := p.within(ctx, func(tx store.OutboxTx) error { return outbox.Add(ctx, tx, messages...) })
	if err != nil {
		t.Fatal(err)
	}
}

// counts are the rows by state, or by state and class where they have one.
func (p place) counts(t testing.TB) map[string]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := p.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, g := range s.Groups {
		name := g.Destination + " " + string(g.State)
		if g.Class != "" {
			name += " " + string(g.Class)
		}
		n[name] += g.Count
	}
	return n
}

// reaches waits until the rows are so.
func (p place) reaches(t testing.TB, want map[string]int) {
	t.Helper()
	p.reachesWithin(t, patience, want)
}

func (p place) reachesWithin(t testing.TB, d time.Duration, want map[string]int) {
	t.Helper()
	var got map[string]int
	defer func() {
		if t.Failed() {
			t.Logf("rows are %v", got)
		}
	}()
	testenv.Eventually(t, d, fmt.Sprintf("the rows are %v", want), func() bool {
		got = p.counts(t)
		return fmt.Sprint(got) == fmt.Sprint(want)
	})
}
