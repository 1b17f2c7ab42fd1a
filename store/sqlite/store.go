package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/holdfast-mq/holdfast/store"
)

// Store is an outbox, an inbox and what is set aside, in one file. It
// implements [store.Outbox], [store.Inbox] and [store.SetAsides] and is safe
// for concurrent use, also by several processes on one file.
//
// While a callback runs (of WithInbox, Redrive or Prune) nobody else can write:
// it must be short and must not use the store.
type Store struct {
	Layout
	names
	path    string
	relaxed bool
	writer  *sql.DB // one connection, unless it is the caller's
	reader  *sql.DB
	watcher *watcher // nil for a database in memory
	owned   []*sql.DB
	closed  atomic.Bool
}

var (
	_ store.Outbox    = (*Store)(nil)
	_ store.Inbox     = (*Store)(nil)
	_ store.SetAsides = (*Store)(nil)
)

// Open opens the file, and makes it where there is none. It does not look at
// the tables: see [Store.Check]. The error is [store.ErrConfig],
// [store.ErrUnreachable] or [store.ErrRefused].
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	n, err := c.names()
	if err != nil {
		return nil, err
	}
	s := &Store{Layout: Layout{Prefix: n.prefix}, names: n}
	if err := s.connect(ctx, c); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close closes what the store has opened; a second call does nothing.
func (s *Store) Close() {
	s.closed.Store(true)
	for _, db := range s.owned {
		db.Close() // nothing is open in it that could be lost
	}
}

// errClosed is what a closed store answers.
var errClosed = errors.New("sqlite: the store is closed")

// write runs fn in a transaction that may write from its start, and commits it
// when fn returns nil. An error of fn comes back as it is. What fn has done is
// committed also when ctx ends meanwhile.
func (s *Store) write(ctx context.Context, doing string, fn func(on) error) error {
	return s.transact(ctx, s.writer, "BEGIN IMMEDIATE", doing, fn)
}

// read runs fn on one view of the tables, which no writer waits for.
func (s *Store) read(ctx context.Context, doing string, fn func(on) error) error {
	return s.transact(ctx, s.reader, "BEGIN DEFERRED", doing, fn)
}

// transact begins by hand: database/sql would begin as the DSN says, which may
// be the caller's.
func (s *Store) transact(ctx context.Context, db *sql.DB, begin, doing string, fn func(on) error) error {
	if s.closed.Load() {
		return errClosed
	}
	c, err := db.Conn(ctx)
	if err != nil {
		return classify(doing, err)
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, begin); err != nil {
		return classify(doing, err)
	}
	committed := false
	defer func() { // also when fn panics
		if !committed {
			rollBack(c)
		}
	}()
	if err := fn(c); err != nil {
		return err
	}
	// The end of ctx must not leave it open what was done.
	_, err = c.ExecContext(context.WithoutCancel(ctx), "COMMIT")
	committed = err == nil
	return classify(doing, err)
}

// rollBack ends a transaction, whatever state it is in. SQLite has rolled some
// back by itself, of which the error then speaks; a connection that is still in
// one is thrown away.
func rollBack(c *sql.Conn) {
	if _, err := c.ExecContext(context.Background(), "ROLLBACK"); err == nil {
		return
	}
	_ = c.Raw(func(any) error { return driver.ErrBadConn })
}

// on is where statements run: a transaction of the caller or of the store.
type on interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// count executes a statement and returns how many rows it has changed.
func count(ctx context.Context, tx on, doing, statement string, args ...any) (int, error) {
	result, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, classify(doing, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, classify(doing, err)
	}
	return int(n), nil
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, tx on, doing string, scan func(scanner) (T, error), statement string, args ...any) ([]T, error) {
	rows, err := tx.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, classify(doing, err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, classify(doing, err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		return nil, classify(doing, err)
	}
	return all, nil
}

// one reads the one row of a query; without any it is [store.ErrNotFound],
// with what was looked for.
func one[T any](ctx context.Context, tx on, what string, scan func(scanner) (T, error), statement string, args ...any) (T, error) {
	v, err := scan(tx.QueryRowContext(ctx, statement, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return v, fmt.Errorf("%w: %s", store.ErrNotFound, what)
	}
	return v, classify("reading "+what, err)
}

// scanner is a row to be read.
type scanner interface{ Scan(into ...any) error }

func scanText(row scanner) (s string, err error) {
	err = row.Scan(&s)
	return s, err
}

func scanInt(row scanner) (n int, err error) {
	err = row.Scan(&n)
	return n, err
}
