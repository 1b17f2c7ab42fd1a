package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-mq/holdfast/store"
)

const (
	grantInbox = "SELECT, INSERT, UPDATE ON {Inbox}"
	grantMarks = "SELECT, INSERT, UPDATE ON {Marks}"
)

// The first has no duplicates; whoever comes again waits for its transaction.
const recordInboxSQL = `
INSERT INTO {Inbox} AS i (consumer, id, replay) VALUES ($1, $2, $3)
ON CONFLICT (consumer, id) DO UPDATE SET duplicates = i.duplicates + 1
RETURNING replay, at, duplicates`

// RecordInbox implements [store.InboxTx].
func (t *Tx) RecordInbox(ctx context.Context, h store.Handled) (bool, store.Handled, error) {
	n, err := t.layout.names()
	if err == nil {
		err = checkKey(h.Consumer, h.ID)
	}
	if err != nil {
		return false, store.Handled{}, err
	}
	was := store.Handled{Consumer: h.Consumer, ID: h.ID}
	err = t.conn.queryRow(ctx, n.sql(recordInboxSQL), h.Consumer, h.ID, asText(h.Replay)).Scan(&was.Replay, &was.At, &was.Duplicates)
	if err != nil {
		return false, store.Handled{}, classify("recording in the inbox", n.grants(grantInbox), err)
	}
	was.At = was.At.UTC()
	return was.Duplicates == 0, was, nil
}

// checkKey refuses what cannot be a key: made text of it, two might be one.
func checkKey(texts ...string) error {
	for _, text := range texts {
		if !isText(text) {
			return fmt.Errorf("%w: the key %q: %s", store.ErrConfig, text, notText)
		}
	}
	return nil
}

// ForgetInbox implements [store.InboxTx].
func (t *Tx) ForgetInbox(ctx context.Context, consumer, id string) error {
	n, err := t.layout.names()
	if err == nil {
		err = checkKey(consumer, id)
	}
	if err != nil {
		return err
	}
	err = t.conn.exec(ctx, n.sql(`DELETE FROM {Inbox} WHERE consumer = $1 AND id = $2`), consumer, id)
	return classify("forgetting in the inbox", n.grants("SELECT, DELETE ON {Inbox}"), err)
}

// The row is made if need be, so that two who come first wait for each other.
const lockMarkSQL = `
INSERT INTO {Marks} AS m (consumer, aggregate) VALUES ($1, $2)
ON CONFLICT (consumer, aggregate) DO UPDATE SET consumer = m.consumer
RETURNING time, sequence, stale, gaps, set_at IS NOT NULL`

// LockMark implements [store.InboxTx].
func (t *Tx) LockMark(ctx context.Context, consumer, aggregate string) (store.Mark, bool, error) {
	n, err := t.layout.names()
	if err == nil {
		err = checkKey(consumer, aggregate)
	}
	if err != nil {
		return store.Mark{}, false, err
	}
	m, there, err := scanMark(t.conn.queryRow(ctx, n.sql(lockMarkSQL), consumer, aggregate))
	return m, there, classify("locking a mark", n.grants(grantMarks), err)
}

func scanMark(row scanner) (m store.Mark, there bool, err error) {
	var nanos sql.NullInt64
	err = row.Scan(&nanos, &m.Sequence, &m.Stale, &m.Gaps, &there)
	if nanos.Valid {
		m.Time = time.Unix(0, nanos.Int64).UTC()
	}
	return m, there, err
}

const setMarkSQL = `
INSERT INTO {Marks} (consumer, aggregate, time, sequence, stale, gaps, set_at) VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp())
ON CONFLICT (consumer, aggregate) DO UPDATE SET time = $3, sequence = $4, stale = $5, gaps = $6, set_at = clock_timestamp()`

// SetMark implements [store.InboxTx]. m.Time is from 1678 to 2262.
func (t *Tx) SetMark(ctx context.Context, consumer, aggregate string, m store.Mark) error {
	n, err := t.layout.names()
	if err == nil {
		err = checkKey(consumer, aggregate)
	}
	if err != nil {
		return err
	}
	nanos := sql.NullInt64{Int64: m.Time.UnixNano(), Valid: !m.Time.IsZero()}
	if nanos.Valid && !time.Unix(0, nanos.Int64).Equal(m.Time) {
		return fmt.Errorf("%w: a mark of the time %v: want a year from 1678 to 2262", store.ErrConfig, m.Time)
	}
	err = t.conn.exec(ctx, n.sql(setMarkSQL), consumer, aggregate, nanos, m.Sequence, int64(m.Stale), int64(m.Gaps))
	return classify("setting a mark", n.grants(grantMarks), err)
}

// WithInbox implements [store.Inbox]. An error of fn comes back as it is.
func (s *Store) WithInbox(ctx context.Context, fn func(store.InboxTx) error) error {
	var own error
	err := s.inTx(ctx, "in a transaction of the inbox", grantInbox, func(tx pgx.Tx) error {
		own = fn(s.Tx(tx))
		return own
	})
	if own != nil {
		return own
	}
	return err
}

// Handled implements [store.Inbox].
func (s *Store) Handled(ctx context.Context, consumer, id string) (store.Handled, error) {
	h := store.Handled{Consumer: consumer, ID: id}
	if !isText(consumer) || !isText(id) {
		return store.Handled{}, fmt.Errorf("%w: %q of %q in the inbox", store.ErrNotFound, id, consumer)
	}
	err := s.pool.QueryRow(ctx, s.sql(`SELECT replay, at, duplicates FROM {Inbox} WHERE consumer = $1 AND id = $2`), consumer, id).
		Scan(&h.Replay, &h.At, &h.Duplicates)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("%w: %s of %s in the inbox", store.ErrNotFound, id, consumer)
	}
	if err != nil {
		return store.Handled{}, classify("reading the inbox", s.grants(grantInbox), err)
	}
	h.At = h.At.UTC()
	return h, nil
}

// Mark implements [store.Inbox].
func (s *Store) Mark(ctx context.Context, consumer, aggregate string) (store.Mark, error) {
	missing := fmt.Errorf("%w: a mark of %q for %q", store.ErrNotFound, consumer, aggregate)
	if !isText(consumer) || !isText(aggregate) {
		return store.Mark{}, missing
	}
	m, there, err := scanMark(s.pool.QueryRow(ctx, s.sql(`SELECT time, sequence, stale, gaps, set_at IS NOT NULL FROM {Marks}
		WHERE consumer = $1 AND aggregate = $2`), consumer, aggregate))
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !there {
		return store.Mark{}, missing
	}
	return m, classify("reading a mark", s.grants(grantMarks), err)
}

const pruneInboxSQL = `
DELETE FROM {Inbox} WHERE consumer = $1 AND id = ANY(ARRAY(
	SELECT id FROM {Inbox} WHERE consumer = $1 AND at < clock_timestamp() - $2::bigint * interval '1 microsecond'
	ORDER BY at LIMIT $3 FOR UPDATE SKIP LOCKED))`

// PruneInbox implements [store.Inbox].
func (s *Store) PruneInbox(ctx context.Context, consumer string, age time.Duration, limit int) (int, error) {
	var pruned int
	err := s.brief(ctx, "pruning the inbox", grantInbox+"; GRANT DELETE ON {Inbox}", func(b *pgx.Batch) {
		b.Queue(s.sql(pruneInboxSQL), asText(consumer), age.Microseconds(), limit).Exec(func(tag pgconn.CommandTag) error {
			pruned = int(tag.RowsAffected())
			return nil
		})
	})
	return pruned, err
}

const inboxesSQL = `
SELECT consumer, count(*), greatest(0, extract(epoch FROM clock_timestamp() - min(at)))::float8, sum(duplicates)::bigint
FROM {Inbox} GROUP BY consumer ORDER BY consumer`

// Inboxes implements [store.Inbox]. It reads the whole table.
func (s *Store) Inboxes(ctx context.Context) ([]store.InboxStatus, error) {
	var inboxes []store.InboxStatus
	err := s.brief(ctx, "counting the inbox", grantInbox, func(b *pgx.Batch) {
		b.Queue(s.sql(inboxesSQL)).Query(func(rows pgx.Rows) (err error) {
			inboxes, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (i store.InboxStatus, err error) {
				var oldest float64
				err = row.Scan(&i.Consumer, &i.Count, &oldest, &i.Duplicates)
				i.Oldest = seconds(oldest)
				return i, err
			})
			return err
		})
	})
	return inboxes, err
}
