package sqlite

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// where is the condition of a filter, as it grows.
type where struct {
	terms []string
	args  []any
}

func (w *where) add(term string, args ...any) {
	w.terms, w.args = append(w.terms, term), append(w.args, args...)
}

func (w *where) text(column, value string) {
	if value != "" {
		w.add(column+" = ?", value)
	}
}

func (w *where) before(column string, age time.Duration) {
	if age > 0 {
		w.add(column+" < {now} - ?", age.Microseconds())
	}
}

// ids leaves out what is no text: it is no row's id.
func (w *where) ids(ids []string) {
	if len(ids) > 0 {
		w.add("id IN (SELECT value FROM json_each(?))", jsonOf(slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !store.IsID(id) })))
	}
}

func (w *where) filter(f store.Filter) {
	w.ids(f.IDs)
	w.text("destination", f.Destination)
	w.text("class", string(f.Class))
	w.text("type", f.Type)
	w.before("created_at", f.Before)
	if f.After > 0 {
		w.add("seq > ?", f.After)
	}
}

func (w *where) sql() string {
	if len(w.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.terms, " AND ")
}

const defaultLimit = 1000

func limitOf(limit int) int {
	if limit == 0 {
		return defaultLimit
	}
	return limit
}

// List implements [store.Outbox].
func (s *Store) List(ctx context.Context, f store.Filter) (rows []store.Row, err error) {
	var w where
	w.filter(f)
	w.text("state", string(f.State))
	statement := `SELECT ` + rowColumns + `, NULL FROM {outbox}` + w.sql() + ` ORDER BY seq LIMIT ?`
	err = s.read(ctx, "listing the outbox", func(tx on) (err error) {
		rows, err = collect(ctx, tx, "listing the outbox", scanRow, s.sql(statement), append(w.args, limitOf(f.Limit))...)
		return err
	})
	return rows, err
}

// Row implements [store.Outbox].
func (s *Store) Row(ctx context.Context, id string) (r store.Row, err error) {
	err = s.read(ctx, "reading the outbox", func(tx on) (err error) {
		r, err = one(ctx, tx, "row "+asText(id)+" of the outbox", scanRow, s.sql(`SELECT `+rowColumns+`, payload FROM {outbox} WHERE id = ?`), id)
		return err
	})
	return r, err
}

// Rearm implements [store.Outbox].
func (s *Store) Rearm(ctx context.Context, f store.Filter, alive []string) (n int, err error) {
	var w where
	switch f.State {
	case "", store.Failed:
		w.add("state = 'failed'")
	case store.Publishing:
		w.add("state = 'publishing' AND "+overSQL, jsonOf(append([]string{}, alive...))) // the first argument, as overSQL has it
	default:
		return 0, ctx.Err()
	}
	w.filter(f)
	statement := `
UPDATE {outbox} SET state = 'pending', for_human = 0, confirmed = 0, refusals = 0, unknowns = 0, class = '', error = '', error_at = NULL,
	retry_at = NULL, publishing_since = NULL, relay = '', token = 0
WHERE seq IN (SELECT seq FROM {outbox} o` + w.sql() + ` ORDER BY seq LIMIT ?)`
	err = s.write(ctx, "re-arming", func(tx on) (err error) {
		n, err = count(ctx, tx, "re-arming", s.sql(statement), append(w.args, limitOf(f.Limit))...)
		return err
	})
	return n, err
}

const pruneSQL = `SELECT ` + rowColumns + `, payload FROM {outbox}
WHERE state = 'published' AND published_at < {now} - ? ORDER BY published_at, seq LIMIT ?`

// Prune implements [store.Outbox]. Nobody else writes to the file while keep
// runs.
func (s *Store) Prune(ctx context.Context, age time.Duration, limit int, keep func([]store.Row) error) (n int, err error) {
	err = s.write(ctx, "pruning the outbox", func(tx on) error {
		rows, err := collect(ctx, tx, "pruning the outbox", scanRow, s.sql(pruneSQL), age.Microseconds(), limit)
		if err != nil || len(rows) == 0 {
			return err
		}
		if keep != nil {
			if err := keep(rows); err != nil {
				return err
			}
		}
		seqs := make([]int64, len(rows))
		for i := range rows {
			seqs[i] = rows[i].Seq
		}
		n, err = count(ctx, tx, "pruning the outbox", s.sql(`DELETE FROM {outbox} WHERE seq IN (SELECT value FROM json_each(?))`), jsonOf(seqs))
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// asText makes text of what a broker said, and of what somebody typed.
func asText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
