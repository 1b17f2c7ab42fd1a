package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-mq/holdfast/store"
)

const defaultLimit = 1000

func orDefault(limit int) int {
	if limit <= 0 {
		return defaultLimit
	}
	return limit
}

// where builds a condition of parts that are all to hold.
type where struct {
	parts []string
	args  []any
}

// and adds a part that has %s where the argument comes.
func (w *where) and(part string, arg any) {
	w.args = append(w.args, arg)
	w.parts = append(w.parts, fmt.Sprintf(part, fmt.Sprintf("$%d", len(w.args))))
}

// equal adds a part for a text, unless it is empty.
func (w *where) equal(column, text string) {
	if text != "" {
		w.and(column+" = %s::text", asText(text))
	}
}

// older adds a part for an age, unless it is 0.
func (w *where) older(column string, age time.Duration) {
	if age > 0 {
		w.and(column+" < clock_timestamp() - %s::bigint * interval '1 microsecond'", age.Microseconds())
	}
}

func (w *where) String() string { return strings.Join(append([]string{"true"}, w.parts...), " AND ") }

// filter adds what both List and Rearm select by: all but the state.
func (w *where) filter(f store.Filter) {
	if len(f.IDs) > 0 {
		w.and("o.id = ANY(%s::text[]::uuid[])", uuids(f.IDs))
	}
	w.equal("o.destination", f.Destination)
	w.equal("o.class", string(f.Class))
	w.equal("o.type", f.Type)
	w.older("o.created_at", f.Before)
	if f.After > 0 {
		w.and("o.seq > %s", f.After)
	}
}

// state adds the state, and with it the small index that has those rows.
func (w *where) state(state store.State) {
	w.equal("o.state", string(state))
	switch state {
	case store.Failed:
		w.parts = append(w.parts, "o.stopped")
	case store.Published:
		w.parts = append(w.parts, "o.published_at IS NOT NULL")
	}
}

// List implements [store.Outbox].
func (s *Store) List(ctx context.Context, f store.Filter) ([]store.Row, error) {
	var w where
	w.filter(f)
	w.state(f.State)
	var rows []store.Row
	err := s.brief(ctx, "listing", "SELECT ON {Outbox}", func(b *pgx.Batch) {
		b.Queue(s.sql(fmt.Sprintf(`SELECT %s FROM {Outbox} o WHERE %s ORDER BY o.seq LIMIT %d`, rowDigest, &w, orDefault(f.Limit))), w.args...).
			Query(collect(&rows))
	})
	return rows, err
}

// Row implements [store.Outbox].
func (s *Store) Row(ctx context.Context, id string) (store.Row, error) {
	if !store.IsID(id) {
		return store.Row{}, fmt.Errorf("%w: %q in the outbox", store.ErrNotFound, id)
	}
	var rows []store.Row
	err := s.brief(ctx, "reading the row "+id, "SELECT ON {Outbox}", func(b *pgx.Batch) {
		b.Queue(s.sql(`SELECT `+rowColumns+` FROM {Outbox} o WHERE o.id = $1::uuid`), id).Query(collect(&rows))
	})
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("%w: %s in the outbox", store.ErrNotFound, id)
	}
	if err != nil {
		return store.Row{}, err
	}
	return rows[0], nil
}

// A row that is locked is somebody's, and left to him.
const rearmSQL = `
UPDATE {Outbox} SET state = 'pending', for_human = false, confirmed = 0, refusals = 0, unknowns = 0, relay = '', token = 0,
	publishing_since = NULL, retry_at = NULL, class = '', error = '', error_at = NULL
WHERE seq = ANY(ARRAY(SELECT o.seq FROM {Outbox} o WHERE %s AND %s ORDER BY o.seq LIMIT %d FOR UPDATE SKIP LOCKED))`

// Rearm implements [store.Outbox]. A row that somebody has locked is not taken.
func (s *Store) Rearm(ctx context.Context, f store.Filter, alive []string) (int, error) {
	var w where
	state := "o.state = 'failed' AND o.stopped"
	switch f.State {
	case "", store.Failed:
	case store.Publishing:
		w.args = append(w.args, list(alive)) // $1 of liveLease
		state = "o.state = 'publishing' AND (o.for_human OR NOT EXISTS (" + liveLease + "))"
	default: // those have nothing to start over
		return 0, nil
	}
	w.filter(f)
	var rearmed int
	err := s.brief(ctx, "re-arming", grantClaim, func(b *pgx.Batch) {
		b.Queue(s.sql(fmt.Sprintf(rearmSQL, state, &w, orDefault(f.Limit))), w.args...).Exec(func(tag pgconn.CommandTag) error {
			rearmed = int(tag.RowsAffected())
			return nil
		})
	})
	return rearmed, err
}

// pruneSQL removes what nobody has locked, so that two who prune share the work.
const pruneSQL = `
DELETE FROM {Outbox} o WHERE o.seq = ANY(ARRAY(
	SELECT p.seq FROM {Outbox} p WHERE p.published_at < clock_timestamp() - $1::bigint * interval '1 microsecond'
	ORDER BY p.published_at LIMIT $2 FOR UPDATE SKIP LOCKED))`

// Prune implements [store.Outbox]. An error of keep comes back as it is.
func (s *Store) Prune(ctx context.Context, age time.Duration, limit int, keep func([]store.Row) error) (int, error) {
	var pruned int
	var own error
	err := s.inTx(ctx, "pruning the outbox", "SELECT, UPDATE, DELETE ON {Outbox}", func(tx pgx.Tx) error {
		rows, err := s.prune(ctx, tx, age, limit, keep != nil)
		pruned = len(rows)
		if err == nil && keep != nil && pruned > 0 {
			own = keep(rows)
			err = own
		}
		return err
	})
	switch {
	case own != nil:
		return 0, own
	case err != nil:
		return 0, err
	}
	return pruned, nil
}

// prune removes rows and returns them, in whole or as digests.
func (s *Store) prune(ctx context.Context, tx pgx.Tx, age time.Duration, limit int, whole bool) (rows []store.Row, err error) {
	if _, err := tx.Exec(ctx, limits); err != nil {
		return nil, err
	}
	columns := rowDigest
	if whole {
		columns = rowColumns
	}
	found, err := tx.Query(ctx, s.sql(pruneSQL+" RETURNING "+columns), age.Microseconds(), limit)
	if err != nil {
		return nil, err
	}
	err = collect(&rows)(found)
	sortByPublished(rows)
	return rows, err
}

func sortByPublished(rows []store.Row) {
	slices.SortFunc(rows, func(a, b store.Row) int {
		return cmp.Or(a.PublishedAt.Compare(b.PublishedAt), cmp.Compare(a.Seq, b.Seq))
	})
}
