package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// dueSQL names the lanes that have anything at all to look at. ?1 are lanes.
const dueSQL = `
SELECT value FROM json_each(?1) l
WHERE EXISTS (SELECT 1 FROM {outbox} WHERE open AND lane = l.value)
	OR EXISTS (SELECT 1 FROM {outbox} WHERE scheduled AND lane = l.value AND not_before <= {now})`

const scheduledSQL = `SELECT count(*) FROM (SELECT 1 FROM {outbox}
	WHERE scheduled AND lane = ? AND not_before <= {now} AND destination NOT IN (SELECT value FROM json_each(?)) LIMIT 1)`

// Due implements [store.Outbox].
func (s *Store) Due(ctx context.Context, c []store.Claim) (due []int, err error) {
	if s.watcher != nil {
		s.watcher.look(ctx) // before the tables are read, so that no commit falls between
	}
	lanes := make([]int, len(c))
	for i := range c {
		lanes[i] = c[i].Lane
	}
	err = s.read(ctx, "looking for what is due", func(tx on) error {
		busy, err := collect(ctx, tx, "looking for what is due", scanInt, s.sql(dueSQL), jsonOf(lanes))
		if err != nil {
			return err
		}
		for i := range c {
			if !slices.Contains(busy, c[i].Lane) {
				continue
			}
			yes, err := s.laneDue(ctx, tx, c[i])
			if err != nil {
				return err
			}
			if yes {
				due = append(due, c[i].Lane)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return due, nil
}

func (s *Store) laneDue(ctx context.Context, tx on, c store.Claim) (bool, error) {
	c.Limit = 1
	seqs, err := collect(ctx, tx, "looking for what is due", scanInt, s.sql(candidatesSQL), candidateArgs(c)...)
	if err != nil || len(seqs) > 0 {
		return len(seqs) > 0, err
	}
	n, err := one(ctx, tx, "a count", scanInt, s.sql(scheduledSQL), c.Lane, jsonOf(append([]string{}, c.Skip...)))
	return n > 0, err
}

// Wait implements [store.Outbox]. It returns within some ten milliseconds of a
// commit by another connection, of this process or another, since the last
// [Store.Due]; for a database in memory it only waits.
func (s *Store) Wait(ctx context.Context, d time.Duration) error {
	if s.closed.Load() {
		return errClosed
	}
	end := time.NewTimer(d)
	defer end.Stop()
	if s.watcher == nil {
		return sleep(ctx, end.C)
	}
	return s.watcher.wait(ctx, end.C)
}

func sleep(ctx context.Context, end <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-end:
		return ctx.Err()
	}
}

// lookEvery is how often a waiting store looks. A look costs some ten
// microseconds. A notice by the file system would not say what is committed,
// and not come from everywhere.
const lookEvery = 10 * time.Millisecond

// watcher sees commits by others with PRAGMA data_version, whose number changes
// with each of them, and means something on one connection alone.
type watcher struct {
	db   *sql.DB // of one connection
	seen atomic.Int64
}

func newWatcher(db *sql.DB) *watcher { return &watcher{db: db} }

func (w *watcher) version(ctx context.Context) (int64, error) {
	var v int64
	err := w.db.QueryRowContext(ctx, "PRAGMA data_version").Scan(&v)
	return v, classify("looking for commits", err)
}

// look notes what is committed by now. An error shows itself in what is read
// next.
func (w *watcher) look(ctx context.Context) {
	if v, err := w.version(ctx); err == nil {
		w.seen.Store(v)
	}
}

func (w *watcher) wait(ctx context.Context, end <-chan time.Time) error {
	seen := w.seen.Load()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		v, err := w.version(ctx)
		if err != nil || v != seen {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			return nil
		case <-tick.C:
		}
	}
}
