package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

const handledColumns = `consumer, id, replay, at, duplicates`

func scanHandled(row scanner) (h store.Handled, err error) {
	var at int64
	err = row.Scan(&h.Consumer, &h.ID, &h.Replay, &at, &h.Duplicates)
	h.At = time.UnixMicro(at).UTC()
	return h, err
}

// RecordInbox implements [store.InboxTx]. The wait for another transaction is
// that for the right to write, which nobody else has.
func (t *Tx) RecordInbox(ctx context.Context, h store.Handled) (first bool, was store.Handled, err error) {
	if t.invalid != nil {
		return false, was, t.invalid
	}
	const statement = `
INSERT INTO {inbox} (consumer, id, replay) VALUES (?, ?, ?)
ON CONFLICT (consumer, id) DO UPDATE SET duplicates = duplicates + 1 RETURNING ` + handledColumns
	was, err = scanHandled(t.on.QueryRowContext(ctx, t.sql(statement), h.Consumer, h.ID, h.Replay))
	return err == nil && was.Duplicates == 0, was, classify("recording in the inbox", err)
}

// ForgetInbox implements [store.InboxTx].
func (t *Tx) ForgetInbox(ctx context.Context, consumer, id string) error {
	if t.invalid != nil {
		return t.invalid
	}
	_, err := t.on.ExecContext(ctx, t.sql(`DELETE FROM {inbox} WHERE consumer = ? AND id = ?`), consumer, id)
	return classify("forgetting in the inbox", err)
}

const markSQL = `SELECT time, sequence, stale, gaps FROM {marks} WHERE consumer = ? AND aggregate = ?`

func scanMark(row scanner) (m store.Mark, err error) {
	var nanos sql.NullInt64
	err = row.Scan(&nanos, &m.Sequence, &m.Stale, &m.Gaps)
	if nanos.Valid {
		m.Time = time.Unix(0, nanos.Int64).UTC()
	}
	return m, err
}

// LockMark implements [store.InboxTx]. The lock is the right to write, of which
// there is one in a file.
func (t *Tx) LockMark(ctx context.Context, consumer, aggregate string) (store.Mark, bool, error) {
	if t.invalid != nil {
		return store.Mark{}, false, t.invalid
	}
	// It changes nothing and takes the right to write all the same, where the
	// caller's transaction began without.
	if _, err := t.on.ExecContext(ctx, t.sql(`UPDATE {marks} SET stale = stale WHERE consumer = ? AND aggregate = ?`), consumer, aggregate); err != nil {
		return store.Mark{}, false, classify("locking a mark", err)
	}
	marks, err := collect(ctx, t.on, "locking a mark", scanMark, t.sql(markSQL), consumer, aggregate)
	if err != nil || len(marks) == 0 {
		return store.Mark{}, false, err
	}
	return marks[0], true, nil
}

// SetMark implements [store.InboxTx].
func (t *Tx) SetMark(ctx context.Context, consumer, aggregate string, m store.Mark) error {
	if t.invalid != nil {
		return t.invalid
	}
	const statement = `
INSERT INTO {marks} (consumer, aggregate, time, sequence, stale, gaps) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (consumer, aggregate) DO UPDATE SET
	time = excluded.time, sequence = excluded.sequence, stale = excluded.stale, gaps = excluded.gaps`
	var nanos any
	if !m.Time.IsZero() {
		nanos = m.Time.UnixNano()
	}
	_, err := t.on.ExecContext(ctx, t.sql(statement), consumer, aggregate, nanos, m.Sequence, m.Stale, m.Gaps)
	return classify("setting a mark", err)
}

// WithInbox implements [store.Inbox].
func (s *Store) WithInbox(ctx context.Context, fn func(store.InboxTx) error) error {
	const doing = "writing to the inbox"
	return s.write(ctx, doing, func(tx on) error {
		if err := fn(&Tx{names: s.names, on: tx}); err != nil {
			return err
		}
		return classify(doing, ctx.Err()) // as of a transaction of database/sql
	})
}

// Handled implements [store.Inbox].
func (s *Store) Handled(ctx context.Context, consumer, id string) (h store.Handled, err error) {
	const statement = `SELECT ` + handledColumns + ` FROM {inbox} WHERE consumer = ? AND id = ?`
	err = s.read(ctx, "reading the inbox", func(tx on) (err error) {
		h, err = one(ctx, tx, "a record of the inbox", scanHandled, s.sql(statement), consumer, id)
		return err
	})
	return h, err
}

// Mark implements [store.Inbox].
func (s *Store) Mark(ctx context.Context, consumer, aggregate string) (m store.Mark, err error) {
	err = s.read(ctx, "reading a mark", func(tx on) (err error) {
		m, err = one(ctx, tx, "a mark", scanMark, s.sql(markSQL), consumer, aggregate)
		return err
	})
	return m, err
}

// PruneInbox implements [store.Inbox].
func (s *Store) PruneInbox(ctx context.Context, consumer string, age time.Duration, limit int) (n int, err error) {
	const statement = `
DELETE FROM {inbox} WHERE (consumer, id) IN (
	SELECT consumer, id FROM {inbox} WHERE consumer = ? AND at < {now} - ? ORDER BY at LIMIT ?)`
	err = s.write(ctx, "pruning the inbox", func(tx on) (err error) {
		n, err = count(ctx, tx, "pruning the inbox", s.sql(statement), consumer, age.Microseconds(), limit)
		return err
	})
	return n, err
}

// Inboxes implements [store.Inbox].
func (s *Store) Inboxes(ctx context.Context) (all []store.InboxStatus, err error) {
	const statement = `SELECT consumer, count(*), max({now} - min(at), 0), sum(duplicates) FROM {inbox} GROUP BY consumer ORDER BY consumer`
	err = s.read(ctx, "counting the inbox", func(tx on) (err error) {
		all, err = collect(ctx, tx, "counting the inbox", func(row scanner) (i store.InboxStatus, err error) {
			var micros int64
			err = row.Scan(&i.Consumer, &i.Count, &micros, &i.Duplicates)
			i.Oldest = time.Duration(micros) * time.Microsecond
			return i, err
		}, s.sql(statement))
		return err
	})
	return all, err
}
