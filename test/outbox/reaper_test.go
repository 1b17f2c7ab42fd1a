package outbox_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the driver sqlite

	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/postgres"
	"github.com/holdfast-mq/holdfast/store/sqlite"
)

// reaperPatience is how long a test waits for what must happen.
const reaperPatience = 60 * time.Second

// reaperSettings are what the relays of a test say of themselves, in the form
// that relays use.
const reaperSettings = `{"Lease": 1000000000, "Default": "republish", "Others": ["bank"]}`

// reaperPlace is an outbox of a test's own, and how a producer adds to it.
type reaperPlace struct {
	store.Outbox
	add func(ctx context.Context, entries []store.Entry) error
}

// eachReaperPlace runs f on every kind of database.
func eachReaperPlace(t *testing.T, f func(t *testing.T, p reaperPlace)) {
	t.Run("sqlite", func(t *testing.T) { f(t, reaperOnSQLite(t)) })
	t.Run("postgres", func(t *testing.T) { f(t, reaperOnPostgres(t)) })
}

func reaperOnSQLite(t *testing.T) reaperPlace {
	t.Helper()
	file := filepath.Join(t.TempDir(), "outbox.db")
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(30000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return reaperPlace{s, func(ctx context.Context, entries []store.Entry) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after a commit it changes nothing
		if err := s.Tx(tx).AddOutbox(ctx, entries); err != nil {
			return err
		}
		return tx.Commit()
	}}
}

func reaperOnPostgres(t *testing.T) reaperPlace {
	t.Helper()
	url := testenv.NeedPostgres(t).URL
	s, err := postgres.Open(t.Context(), postgres.Config{
		URL: url, Layout: postgres.Layout{Schema: "reaper_" + strings.ToLower(rand.Text()[:12])},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if _, err := conn.Exec(ctx, "DROP SCHEMA "+s.Schema+" CASCADE"); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
		_ = conn.Close(ctx)
	})
	return reaperPlace{s, func(ctx context.Context, entries []store.Entry) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return s.Tx(tx).AddOutbox(ctx, entries) })
	}}
}

// reaperRelay is a relay that claims what is in one lane and goes no further.
type reaperRelay struct {
	claim store.Claim
	rows  []store.Row
}

func (p reaperPlace) relay(t *testing.T, id string, lane int, destinations ...string) reaperRelay {
	t.Helper()
	ctx := t.Context()
	var entries []store.Entry
	for _, d := range destinations {
		entries = append(entries, store.Entry{
			ID: uuid.NewString(), Lane: lane, Destination: d, Keys: []string{"k"}, Type: "paid.v1", Payload: []byte("{}"),
		})
	}
	if err := p.add(ctx, entries); err != nil {
		t.Fatal(err)
	}
	standing, err := p.Beat(ctx, store.Relay{ID: id, Name: id, Settings: reaperSettings})
	if err != nil {
		t.Fatal(err)
	}
	seen := slices.DeleteFunc(standing.Leases, func(l store.Lease) bool { return l.Lane != lane })
	if len(seen) == 0 {
		seen = []store.Lease{{Lane: lane}}
	}
	held, err := p.Take(ctx, id, seen)
	if err != nil || len(held) != 1 {
		t.Fatalf("took %v, %v", held, err)
	}
	r := reaperRelay{claim: store.Claim{Lane: lane, Relay: id, Token: held[0].Token, Limit: 100}}
	if r.rows, err = p.Claim(ctx, r.claim); err != nil || len(r.rows) != len(destinations) {
		t.Fatalf("claimed %d, %v", len(r.rows), err)
	}
	return r
}

// beats keeps a relay alive until the test ends.
func (p reaperPlace) beats(t *testing.T, id string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if _, err := p.Beat(ctx, store.Relay{ID: id, Name: id, Settings: reaperSettings}); err != nil && ctx.Err() == nil {
					t.Errorf("a beat: %v", err)
				}
			}
		}
	})
	t.Cleanup(func() {
		stop()
		wg.Wait()
	})
}

// Two reapers at once on the rows of a relay that died, beside one that lives:
// every row that is left for a human fails once, with the text, and no other.
func TestReaper(t *testing.T) {
	eachReaperPlace(t, func(t *testing.T, p reaperPlace) {
		ctx := t.Context()
		dead := p.relay(t, "dead", 3, "bank", "bank", "shop", "bank")
		alive := p.relay(t, "alive", 4, "bank", "bank")
		left, busy := alive.rows[0], alive.rows[1]
		written, err := p.Record(ctx, alive.claim, []store.Outcome{{
			ID: left.ID, State: store.Publishing, Unknown: true, Class: store.ClassUnknown, Error: "no confirm within 30s",
		}})
		if err != nil || len(written) != 1 {
			t.Fatalf("recorded %v, %v", written, err)
		}
		p.beats(t, "alive")
		failed := p.reap(t, 2)

		row := func(id string) store.Row {
			row, err := p.Row(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			return row
		}
		humans := []string{dead.rows[0].ID, dead.rows[1].ID, dead.rows[3].ID, left.ID}
		testenv.Eventually(t, reaperPatience, "what is left for a human has failed", func() bool {
			return !slices.ContainsFunc(humans, func(id string) bool { return row(id).State != store.Failed })
		})
		for _, id := range humans {
			if r := row(id); r.Class != store.ClassUnknown || !strings.Contains(r.Error, "may or may not have been delivered") {
				t.Errorf("%s: class %q, %q", id, r.Class, r.Error)
			}
		}
		if r := row(left.ID); !strings.Contains(r.Error, "no confirm within 30s") {
			t.Errorf("what the relay knew is gone: %q", r.Error)
		}
		if dead.rows[2].Destination != "shop" || row(dead.rows[2].ID).State != store.Publishing {
			t.Errorf("%+v: it is published again, and must not fail", row(dead.rows[2].ID))
		}
		if r := row(busy.ID); r.State != store.Publishing {
			t.Errorf("%+v: a live relay works on it", r)
		}
		if written, err := p.Record(ctx, dead.claim, []store.Outcome{{ID: humans[0], State: store.Published}}); err != nil || len(written) != 0 {
			t.Errorf("the dead one woke late and wrote %v, %v", written, err)
		}
		if got := failed(); fmt.Sprint(got) != fmt.Sprint(slices.Sorted(slices.Values(humans))) {
			t.Errorf("failed %v, want each of %v once", got, humans)
		}
	})
}

// reap runs reapers until the test ends. failed lists the rows that they
// failed.
func (p reaperPlace) reap(t *testing.T, reapers int) (failed func() []string) {
	t.Helper()
	var mu sync.Mutex
	var ids []string
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range reapers {
		r, err := outbox.NewReaper(outbox.ReaperConfig{
			Outbox: p, Routes: map[string]outbox.Route{"bank": {Unknown: outbox.LeaveForHuman}}, Logger: slog.New(slog.DiscardHandler),
			FirstScan: time.Second, Interval: 4 * time.Second, WarnAfter: time.Second, FailAfter: 5 * time.Second, Lease: 2 * time.Second,
			Observe: func(e outbox.ReaperEvent) {
				mu.Lock()
				defer mu.Unlock()
				switch e.Kind {
				case outbox.ReaperFailed:
					ids = append(ids, e.ID)
				case outbox.ReaperScanFailed, outbox.ReaperFlipError, outbox.ReaperStalled:
					t.Errorf("%s: %v", e.Kind, e.Err)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { _ = r.Run(ctx) })
	}
	t.Cleanup(func() {
		stop()
		wg.Wait()
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(slices.Values(ids))
	}
}
