package inbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/inbox"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/sqlite"
	"github.com/holdfast-mq/holdfast/triage"
)

// shop is a service with a database, of which the inbox's tables are part.
type shop struct {
	*sql.DB
	tables *sqlite.Store
	dir    string
}

func openShop() *shop {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "shop")
	check(err)
	file := filepath.Join(dir, "shop.db")
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	check(err)
	tables, err := sqlite.Open(ctx, sqlite.Config{Path: file})
	check(err)
	check(tables.Migrate(ctx))
	_, err = db.ExecContext(ctx, "CREATE TABLE charges (message text)")
	check(err)
	return &shop{db, tables, dir}
}

func (s *shop) close() {
	s.tables.Close()
	_ = s.Close()
	_ = os.RemoveAll(s.dir)
}

// in commits what fn did when it returns nil, and else rolls back.
func (s *shop) in(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it changes nothing
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A handler records the message in the transaction that applies it. The second
// delivery is a duplicate.
func ExampleOnce() {
	s := openShop()
	defer s.close()
	charge := func(ctx context.Context, m *holdfast.Message) error {
		return s.in(ctx, func(tx *sql.Tx) error {
			r, err := inbox.Once(ctx, s.tables.Tx(tx), "billing", inbox.Of(m), func(ctx context.Context) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO charges VALUES (?)", m.ID)
				return err
			})
			fmt.Println(m.ID, r.Outcome)
			return err
		})
	}
	ctx, m := context.Background(), &holdfast.Message{ID: "order-7"}
	check(charge(ctx, m))
	check(charge(ctx, m))
	// Output:
	// order-7 applied
	// order-7 duplicate
}

// Each effect is idempotent by itself: storing a file under its own name.
func ExampleAfter() {
	s := openShop()
	defer s.close()
	label := func(ctx context.Context, m *holdfast.Message) error {
		r, err := inbox.After(ctx, s.tables, "labels", inbox.Of(m), func(context.Context) error {
			return os.WriteFile(filepath.Join(s.dir, m.ID+".txt"), m.Body, 0o600)
		})
		fmt.Println(m.ID, r.Outcome)
		return err
	}
	ctx, m := context.Background(), &holdfast.Message{ID: "order-7", Body: []byte("to: Ada")}
	check(label(ctx, m))
	check(label(ctx, m))
	// Output:
	// order-7 applied
	// order-7 duplicate
}

// An event that is older than what the aggregate has seen is skipped.
func ExampleLatest() {
	s := openShop()
	defer s.close()
	ctx, noon := context.Background(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, at := range []time.Time{noon, noon.Add(time.Minute), noon.Add(time.Second)} {
		check(s.in(ctx, func(tx *sql.Tx) error {
			order, err := inbox.Latest(ctx, s.tables.Tx(tx), "reporting", "deal-1", at)
			fmt.Println(at.Format(time.TimeOnly), order)
			return err
		}))
	}
	// Output:
	// 12:00:00 in_order
	// 12:01:00 in_order
	// 12:00:01 stale
}

// What is missing may come later: the event waits aside until then.
func ExampleSequence() {
	s := openShop()
	defer s.close()
	ctx, m := context.Background(), &holdfast.Message{ID: "event-3", Body: []byte("{}")}
	check(s.in(ctx, func(tx *sql.Tx) error {
		order, err := inbox.Sequence(ctx, s.tables.Tx(tx), "reporting", "deal-1", 3)
		if err == nil && order == inbox.Gap {
			err = inbox.SetAside(ctx, s.tables.Tx(tx), "reporting", m, "gap", "events 1 and 2 have not come")
		}
		return err
	}))
	rows, err := s.tables.Asides(ctx, store.AsideFilter{})
	check(err)
	fmt.Println(rows[0].MessageID, rows[0].Reason, "-", rows[0].Note)
	// Output:
	// event-3 gap - events 1 and 2 have not come
}

// Records are kept for a week, and longer while something older is parked.
func ExamplePrune() {
	s := openShop()
	defer s.close()
	b := membroker.New()
	defer func() { _ = b.Close() }()
	b.DeclareQueue("orders.parked")
	removed, err := inbox.Prune(context.Background(), s.tables, "billing", inbox.Retention{
		Keep:         7 * 24 * time.Hour,
		OldestParked: oldestParked(b, "orders.parked"),
	})
	fmt.Println(removed, err)
	// Output:
	// 0 <nil>
}

// oldestParked looks through a parked queue for what failed first.
func oldestParked(s broker.Sifter, queue string) func(context.Context) (time.Time, bool, error) {
	return func(ctx context.Context) (oldest time.Time, found bool, err error) {
		_, err = triage.List(ctx, s, triage.Place{Queue: queue}, triage.ListOptions{}, func(m *broker.Stored) error {
			if m.Capture == nil || m.Capture.FirstFailedAt.IsZero() {
				return fmt.Errorf("message %d in %s does not say since when it waits", m.Position+1, queue)
			}
			if at := m.Capture.FirstFailedAt; !found || at.Before(oldest) {
				oldest, found = at, true
			}
			return nil
		})
		return oldest, found, err
	}
}
