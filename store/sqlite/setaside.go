package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// asideColumns is what scanAside reads, besides the payload.
const asideColumns = `id, consumer, queue, reason, note, message_id, correlation_id, exchange, key, type, content_type, headers,
	at, redriven_at, redrives`

func scanAside(row scanner) (store.Aside, error) {
	var a store.Aside
	var at, redriven sql.NullInt64
	var headers sql.NullString
	err := row.Scan(&a.ID, &a.Consumer, &a.Queue, &a.Reason, &a.Note, &a.MessageID, &a.CorrelationID, &a.Exchange, &a.Key, &a.Type,
		&a.ContentType, &headers, &at, &redriven, &a.Redrives, &a.Payload)
	a.At, a.RedrivenAt = timeOf(at), timeOf(redriven)
	if headers.Valid {
		a.Headers = []byte(headers.String)
	}
	return a, err
}

// PutAside implements [store.SetAsideTx].
func (t *Tx) PutAside(ctx context.Context, a store.Aside) error {
	if t.invalid != nil {
		return t.invalid
	}
	if !store.IsID(a.ID) {
		return fmt.Errorf("%w: setting aside: ID %q: want a UUID in lower-case letters", store.ErrConfig, a.ID)
	}
	const statement = `
INSERT INTO {set_aside} (id, consumer, queue, reason, note, message_id, correlation_id, exchange, key, type, content_type, headers, payload)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (consumer, reason, message_id) WHERE message_id <> '' DO NOTHING`
	var headers any
	if a.Headers != nil {
		headers = string(a.Headers)
	}
	_, err := t.on.ExecContext(ctx, t.sql(statement), a.ID, a.Consumer, a.Queue, a.Reason, a.Note, a.MessageID, a.CorrelationID,
		a.Exchange, a.Key, a.Type, a.ContentType, headers, append([]byte{}, a.Payload...))
	if isDuplicate(err) {
		return fmt.Errorf("%w: setting aside %s: %w", store.ErrDuplicate, a.ID, err)
	}
	if err != nil || a.MessageID == "" {
		return classify("setting aside", err)
	}
	return t.ForgetInbox(ctx, a.Consumer, a.MessageID)
}

// AsideReasons implements [store.SetAsides].
func (s *Store) AsideReasons(ctx context.Context) (groups []store.AsideGroup, err error) {
	const statement = `
SELECT consumer, reason, type, count(*), max({now} - min(at), 0), max({now} - max(at), 0) FROM {set_aside}
GROUP BY consumer, reason, type ORDER BY consumer, reason, type`
	err = s.read(ctx, "counting what is set aside", func(tx on) (err error) {
		groups, err = collect(ctx, tx, "counting what is set aside", func(row scanner) (g store.AsideGroup, err error) {
			var oldest, newest int64
			err = row.Scan(&g.Consumer, &g.Reason, &g.Type, &g.Count, &oldest, &newest)
			g.Oldest, g.Newest = time.Duration(oldest)*time.Microsecond, time.Duration(newest)*time.Microsecond
			return g, err
		}, s.sql(statement))
		return err
	})
	return groups, err
}

// Asides implements [store.SetAsides].
func (s *Store) Asides(ctx context.Context, f store.AsideFilter) (all []store.Aside, err error) {
	var w where
	w.ids(f.IDs)
	w.text("consumer", f.Consumer)
	w.text("reason", f.Reason)
	w.text("type", f.Type)
	w.before("at", f.Before)
	statement := `SELECT ` + asideColumns + `, NULL FROM {set_aside}` + w.sql() + ` ORDER BY at, rowid LIMIT ?`
	err = s.read(ctx, "listing what is set aside", func(tx on) (err error) {
		all, err = collect(ctx, tx, "listing what is set aside", scanAside, s.sql(statement), append(w.args, limitOf(f.Limit))...)
		return err
	})
	return all, err
}

const asideSQL = `SELECT ` + asideColumns + `, payload FROM {set_aside} WHERE id = ?`

// Aside implements [store.SetAsides].
func (s *Store) Aside(ctx context.Context, id string) (a store.Aside, err error) {
	err = s.read(ctx, "reading what is set aside", func(tx on) (err error) {
		a, err = one(ctx, tx, "set aside "+id, scanAside, s.sql(asideSQL), id)
		return err
	})
	return a, err
}

// Redrive implements [store.SetAsides]. Nobody else writes to the file while
// publish runs.
func (s *Store) Redrive(ctx context.Context, id string, publish func(store.Aside) error) (redriven bool, err error) {
	var refused error
	err = s.write(ctx, "redriving", func(tx on) error {
		a, err := one(ctx, tx, "set aside "+id, scanAside, s.sql(asideSQL), id)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		refused = publish(a)
		settled := context.WithoutCancel(ctx) // what became of it is written also when ctx has ended
		if refused != nil {
			_, err = count(settled, tx, "redriving", s.sql(`UPDATE {set_aside} SET redrives = redrives + 1, redriven_at = {now} WHERE id = ?`), id)
			return err
		}
		_, err = count(settled, tx, "redriving", s.sql(`DELETE FROM {set_aside} WHERE id = ?`), id)
		redriven = err == nil
		return err
	})
	return redriven && err == nil, errors.Join(refused, err)
}

// DropAside implements [store.SetAsides].
func (s *Store) DropAside(ctx context.Context, id string) (bool, error) {
	var n int
	err := s.write(ctx, "dropping what is set aside", func(tx on) (err error) {
		n, err = count(ctx, tx, "dropping what is set aside", s.sql(`DELETE FROM {set_aside} WHERE id = ?`), id)
		return err
	})
	return n > 0, err
}
