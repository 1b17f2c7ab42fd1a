package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// Store is everything that a store does.
type Store interface {
	store.Outbox
	store.Inbox
	store.SetAsides

	// Migrate makes the tables, or brings them up to this version. It may come
	// twice, and from several processes at once.
	Migrate(ctx context.Context) error

	// Rollback removes all that Migrate made.
	Rollback(ctx context.Context) error
}

// Writes is what a store writes in a caller's transaction.
type Writes interface {
	store.OutboxTx
	store.InboxTx
	store.SetAsideTx
}

// Tx is a caller's transaction, wrapped by the store under test.
type Tx struct {
	Writes
	Commit   func(ctx context.Context) error
	Rollback func(ctx context.Context) error // after a commit it changes nothing
}

// Env is what the suite must know of a store and be able to do with it. Its
// functions may be called from several goroutines at once.
type Env struct {
	// Name tells this configuration from others.
	Name string

	// New makes an empty place (a schema, a file) that no other test has, and
	// arranges that it is removed at the end. Required.
	New func(t *testing.T) Place

	// LocksWhole says that a writer locks the whole database: nobody can lock a
	// row alone. Place.LockRow is then not needed, and cases about a lock on
	// everything take the place of those about one on a row.
	LocksWhole bool

	// Slow multiplies how long the suite waits for anything. 0 means 1.
	Slow float64
}

// Place is where the tables of one test are. All of it is required, unless it
// says otherwise.
type Place struct {
	// Open opens a store on the place, as another process would, and does not
	// migrate. The suite calls close once or twice.
	Open func(t *testing.T) (s Store, close func())

	// Begin begins a transaction of the caller's own, one function for each
	// kind that the store wraps, such as "pgx.Tx" and "*sql.Tx".
	Begin map[string]func(t *testing.T) Tx

	// Backdate moves a moment of a row into the past, by hand. id is the row's,
	// and of a record of the inbox its message's.
	Backdate func(t *testing.T, m Moment, id string, by time.Duration)

	// Foreign writes rows into the outbox by hand that no version of the store
	// writes, one of them into lane: a state and a lane that do not exist,
	// headers that are not text. What the tables refuse is not there. It
	// returns how many are.
	Foreign func(t *testing.T, lane int) int

	// Drift changes a column by hand, and returns its name.
	Drift func(t *testing.T) string

	// Older makes of migrated tables what an older version has left.
	Older func(t *testing.T)

	// LockRow locks one row of the outbox in a transaction of somebody, until
	// unlock, which may be called twice. See Env.LocksWhole.
	LockRow func(t *testing.T, id string) (unlock func())
}

// Moment is a time in a row. The set is closed.
type Moment string

// The moments.
const (
	Created   Moment = "created"   // Row.CreatedAt
	Claimed   Moment = "claimed"   // Row.PublishingSince
	Published Moment = "published" // Row.PublishedAt
	Handled   Moment = "handled"   // Handled.At
	SetAside  Moment = "set aside" // Aside.At
)

const (
	// patience is how long the suite waits for what must happen, at Slow 1.
	patience = time.Minute

	// pollEvery is the pace of a poll.
	pollEvery = 10 * time.Millisecond

	// quiet is how long it watches for what must not happen.
	quiet = 150 * time.Millisecond
)

func (e *Env) patience() time.Duration {
	if e.Slow > 0 {
		return time.Duration(float64(patience) * e.Slow)
	}
	return patience
}

func (e *Env) check(t *testing.T) {
	t.Helper()
	if e.New == nil {
		t.Fatal("storetest: Env.New is required")
	}
}

func (p *Place) check(t *testing.T, e *Env) {
	t.Helper()
	required := map[string]bool{
		"Open": p.Open != nil, "Begin": len(p.Begin) > 0, "Backdate": p.Backdate != nil, "Foreign": p.Foreign != nil,
		"Drift": p.Drift != nil, "Older": p.Older != nil, "LockRow": p.LockRow != nil || e.LocksWhole,
	}
	for field, given := range required {
		if !given {
			t.Fatalf("storetest: Place.%s is required", field)
		}
	}
}
