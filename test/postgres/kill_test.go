package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/postgres"
)

// TestAServerKilledUnderLoad proves that what was committed is there after it
// and is published, and that what the store says meanwhile is that nobody
// answers.
func TestAServerKilledUnderLoadLosesNothing(t *testing.T) {
	p, s := migrated(t)
	claims := holder(t, s, 1, 2)
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	load := &load{place: p, store: s, claims: claims}
	var workers sync.WaitGroup
	for _, work := range []func(context.Context){load.produce, load.produce, load.relay, load.wait} {
		workers.Go(func() { work(ctx) })
	}
	progress := func() {
		committed, published := load.committed.Load(), load.published.Load()
		testenv.Eventually(t, patience, "work goes on", func() bool {
			return load.committed.Load() > committed+20 && load.published.Load() > published+20
		})
	}
	progress()
	p.server.Kill(t)
	testenv.Eventually(t, patience, "somebody finds that nobody answers", func() bool { return load.unreachable.Load() > 0 })
	p.server.Start(t)
	progress()
	stop()
	workers.Wait()
	if err := load.odd.Load(); err != nil {
		t.Errorf("an error of another class: %v", *err)
	}
	load.drain(t)
	ids := load.ids()
	rows, err := s.List(within(t), store.Filter{State: store.Published, Limit: 1_000_000})
	must(t, err)
	there := make(map[string]bool)
	for _, row := range rows {
		there[row.ID] = true
	}
	for _, id := range ids {
		if !there[id] {
			t.Errorf("the row %s was committed and is not published", id)
		}
	}
	t.Logf("%d rows committed, %d published, %d calls found nobody", len(ids), len(rows), load.unreachable.Load())
}

// load is producers and a relay at work, through a store.
type load struct {
	place  *place
	store  *postgres.Store
	claims []store.Claim

	committed, published, unreachable atomic.Int64
	odd                               atomic.Pointer[error]

	mu   sync.Mutex
	sure []string // committed, as the server has said
}

// saw keeps an error of the store, and pauses.
func (l *load) saw(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, store.ErrUnreachable):
		l.unreachable.Add(1)
	default:
		l.odd.Store(&err)
	}
	pause(ctx)
}

// pause is the pace of a client that tries again.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Millisecond):
	}
}

func (l *load) produce(ctx context.Context) {
	for ctx.Err() == nil {
		e := newEntry(1 + int(l.committed.Load()%2))
		tx, err := l.place.pool.Begin(ctx)
		if err != nil {
			pause(ctx) // the caller's own error, not the store's
			continue
		}
		if err := l.place.layout.Tx(tx).AddOutbox(ctx, []store.Entry{e}); err != nil {
			l.saw(ctx, err)
			_ = tx.Rollback(context.WithoutCancel(ctx)) // the connection may be gone
			continue
		}
		if tx.Commit(ctx) == nil {
			l.committed.Add(1)
			l.mu.Lock()
			l.sure = append(l.sure, e.ID)
			l.mu.Unlock()
		}
	}
}

func (l *load) relay(ctx context.Context) {
	for ctx.Err() == nil {
		for _, c := range l.claims {
			if _, err := l.pass(ctx, c); err != nil {
				l.saw(ctx, err)
			}
		}
	}
}

// pass publishes what a lane has, as far as the database is concerned.
func (l *load) pass(ctx context.Context, c store.Claim) (int, error) {
	rows, err := l.store.Claim(ctx, c)
	if err != nil {
		return 0, err
	}
	outcomes := make([]store.Outcome, len(rows))
	for i, row := range rows {
		outcomes[i] = store.Outcome{ID: row.ID, State: store.Published, Confirmed: 1}
	}
	written, err := l.store.Record(ctx, c, outcomes)
	l.published.Add(int64(len(written)))
	return len(rows), err
}

func (l *load) wait(ctx context.Context) {
	for ctx.Err() == nil {
		if err := l.store.Wait(ctx, 10*time.Millisecond); err != nil {
			l.saw(ctx, err)
		}
	}
}

// drain publishes what is left, under new leases: what was claimed and not
// recorded is claimed again.
func (l *load) drain(t *testing.T) {
	t.Helper()
	for _, c := range holder(t, l.store, 1, 2) {
		for {
			n, err := l.pass(within(t), c)
			must(t, err)
			if n == 0 {
				break
			}
		}
	}
}

func (l *load) ids() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sure
}
