package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/store"
)

const grantAside = "SELECT, INSERT, UPDATE, DELETE ON {Aside}"

// The same message again must touch the row that is there: whoever is just
// giving that row back to work will delete it, and this waits for him and then
// writes its own. To do nothing would lose the message.
const putAsideSQL = `
WITH forgotten AS (DELETE FROM {Inbox} WHERE consumer = $2 AND id = $6)
INSERT INTO {Aside} AS a (id, consumer, queue, reason, note, message_id, correlation_id, exchange, key, type, content_type,
	headers, payload, redriven_at, redrives)
VALUES ($1::uuid, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::text::json, $13, $14, $15)
ON CONFLICT (consumer, reason, message_id) WHERE message_id <> '' DO UPDATE SET note = a.note`

// PutAside implements [store.SetAsideTx]. A message without an id is never
// taken for another one. What is no text (a key of any bytes) is kept with
// U+FFFD for what is none; the payload is kept as it is.
func (t *Tx) PutAside(ctx context.Context, a store.Aside) error {
	n, err := t.layout.names()
	if err == nil {
		err = checkAside(&a)
	}
	if err != nil {
		return err
	}
	err = t.conn.exec(ctx, n.sql(putAsideSQL), a.ID, asText(a.Consumer), asText(a.Queue), asText(a.Reason), asText(a.Note),
		asText(a.MessageID), asText(a.CorrelationID), asText(a.Exchange), asText(a.Key), asText(a.Type), asText(a.ContentType),
		orNull(string(bytes.ToValidUTF8(a.Headers, []byte("\uFFFD")))), append([]byte{}, a.Payload...), orNullTime(a.RedrivenAt), int64(a.Redrives))
	if state(err) == codeUnique {
		return fmt.Errorf("%w: setting aside %s: %w", store.ErrDuplicate, a.ID, err)
	}
	return classify("setting aside", n.grants(grantAside+"; GRANT SELECT, DELETE ON {Inbox}"), err)
}

func checkAside(a *store.Aside) error {
	switch {
	case !store.IsID(a.ID):
		return fmt.Errorf("%w: setting aside: ID %q: want a UUID in lower-case letters", store.ErrConfig, a.ID)
	case len(a.Headers) > 0 && !json.Valid(a.Headers):
		return fmt.Errorf("%w: setting aside %s: Headers are no JSON", store.ErrConfig, a.ID)
	}
	return nil
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orNullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

const asideColumns = `id::text, consumer, queue, reason, note, message_id, correlation_id, exchange, key, type, content_type,
	headers::text, at, redriven_at, redrives`

func toAside(row pgx.CollectableRow) (a store.Aside, err error) {
	var headers *string
	var redriven *time.Time
	err = row.Scan(&a.ID, &a.Consumer, &a.Queue, &a.Reason, &a.Note, &a.MessageID, &a.CorrelationID, &a.Exchange, &a.Key,
		&a.Type, &a.ContentType, &headers, &a.At, &redriven, &a.Redrives, &a.Payload)
	if headers != nil {
		a.Headers = []byte(*headers)
	}
	a.At, a.RedrivenAt = a.At.UTC(), orZero(redriven)
	return a, err
}

const asideReasonsSQL = `
SELECT consumer, reason, type, count(*),
	extract(epoch FROM clock_timestamp() - min(at))::float8, extract(epoch FROM clock_timestamp() - max(at))::float8
FROM {Aside} GROUP BY consumer, reason, type ORDER BY consumer, reason, type`

// AsideReasons implements [store.SetAsides].
func (s *Store) AsideReasons(ctx context.Context) ([]store.AsideGroup, error) {
	var groups []store.AsideGroup
	err := s.brief(ctx, "counting what is set aside", grantAside, func(b *pgx.Batch) {
		b.Queue(s.sql(asideReasonsSQL)).Query(func(rows pgx.Rows) (err error) {
			groups, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (g store.AsideGroup, err error) {
				var oldest, newest float64
				err = row.Scan(&g.Consumer, &g.Reason, &g.Type, &g.Count, &oldest, &newest)
				g.Oldest, g.Newest = seconds(oldest), seconds(newest)
				return g, err
			})
			return err
		})
	})
	return groups, err
}

// Asides implements [store.SetAsides].
func (s *Store) Asides(ctx context.Context, f store.AsideFilter) ([]store.Aside, error) {
	var w where
	if len(f.IDs) > 0 {
		w.and("id = ANY(%s::text[]::uuid[])", uuids(f.IDs))
	}
	w.equal("consumer", f.Consumer)
	w.equal("reason", f.Reason)
	w.equal("type", f.Type)
	w.older("at", f.Before)
	var asides []store.Aside
	err := s.brief(ctx, "listing what is set aside", grantAside, func(b *pgx.Batch) {
		b.Queue(s.sql(fmt.Sprintf(`SELECT %s, NULL::bytea FROM {Aside} WHERE %s ORDER BY at, id LIMIT %d`, asideColumns, &w, orDefault(f.Limit))), w.args...).
			Query(func(rows pgx.Rows) (err error) {
				asides, err = pgx.CollectRows(rows, toAside)
				return err
			})
	})
	return asides, err
}

// Aside implements [store.SetAsides].
func (s *Store) Aside(ctx context.Context, id string) (store.Aside, error) {
	missing := fmt.Errorf("%w: %q is not set aside", store.ErrNotFound, id)
	if !store.IsID(id) {
		return store.Aside{}, missing
	}
	a, err := s.aside(ctx, s.pool, id, "")
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Aside{}, missing
	}
	return a, classify("reading what is set aside", s.grants(grantAside), err)
}

type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func (s *Store) aside(ctx context.Context, q queryer, id, lock string) (store.Aside, error) {
	rows, err := q.Query(ctx, s.sql(`SELECT `+asideColumns+`, payload FROM {Aside} WHERE id = $1::uuid `+lock), id)
	if err != nil {
		return store.Aside{}, err
	}
	return pgx.CollectExactlyOneRow(rows, toAside)
}

// Redrive implements [store.SetAsides]. The transaction, and with it a
// connection, is open while publish runs: it must end.
func (s *Store) Redrive(ctx context.Context, id string, publish func(store.Aside) error) (bool, error) {
	if !store.IsID(id) {
		return false, nil
	}
	fail := func(err error) (bool, error) {
		return false, classify("giving back what is set aside", s.grants(grantAside), err)
	}
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return fail(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after a commit there is nothing to roll back
	a, err := s.aside(ctx, tx, id, "FOR UPDATE SKIP LOCKED")
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return fail(err)
	}
	refusal := publish(a)
	// What was published is removed, whatever became of ctx meanwhile.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerLimit)
	defer cancel()
	if err := s.afterRedrive(after, tx, id, refusal); err != nil {
		_, err = fail(err)
		return false, errors.Join(refusal, err)
	}
	return refusal == nil, refusal
}

func (s *Store) afterRedrive(ctx context.Context, tx pgx.Tx, id string, refusal error) error {
	statement := `DELETE FROM {Aside} WHERE id = $1::uuid`
	if refusal != nil {
		statement = `UPDATE {Aside} SET redrives = redrives + 1, redriven_at = clock_timestamp() WHERE id = $1::uuid`
	}
	if _, err := tx.Exec(ctx, s.sql(statement), id); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// DropAside implements [store.SetAsides].
func (s *Store) DropAside(ctx context.Context, id string) (bool, error) {
	if !store.IsID(id) {
		return false, nil
	}
	tag, err := s.pool.Exec(ctx, s.sql(`DELETE FROM {Aside} WHERE id = $1::uuid`), id)
	return tag.RowsAffected() == 1, classify("dropping what is set aside", s.grants(grantAside), err)
}
