package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-mq/holdfast/store"
)

// Config says which database, and where in it.
type Config struct {
	// URL is a PostgreSQL URL, or a connection string of key=value pairs.
	// pgx's own settings (pool_max_conns, default_query_exec_mode) may be in
	// it. One of URL and Pool is required.
	URL string

	// Pool is the caller's own, and stays open after Close.
	Pool *pgxpool.Pool

	Layout
}

// Store is an outbox, an inbox and what is set aside, at one place in a
// database. It implements [store.Outbox], [store.Inbox] and [store.SetAsides]
// and is safe for concurrent use.
//
// Every transaction of its own is short: a statement that waits five seconds
// for a lock, or runs for half a minute, is cut off and returns
// [store.ErrBusy].
type Store struct {
	Layout
	names
	pool *pgxpool.Pool
	own  bool
	bell *bell
}

var (
	_ store.Outbox    = (*Store)(nil)
	_ store.Inbox     = (*Store)(nil)
	_ store.SetAsides = (*Store)(nil)
)

// Open connects to the database once, to prove that it answers. It does not
// look at the tables: see [Store.Check]. The error is [store.ErrConfig],
// [store.ErrUnreachable] or [store.ErrRefused].
func Open(ctx context.Context, c Config) (*Store, error) {
	n, err := c.names()
	if err != nil {
		return nil, err
	}
	s := &Store{Layout: c.withDefaults(), names: n, pool: c.Pool}
	if (c.URL == "") == (c.Pool == nil) {
		return nil, fmt.Errorf("%w: one of URL and Pool is required", store.ErrConfig)
	}
	if c.Pool == nil {
		if s.pool, err = open(ctx, c.URL); err != nil {
			return nil, err
		}
		s.own = true
	}
	s.bell = newBell(s.pool, n)
	if err := s.pool.Ping(ctx); err != nil {
		s.Close()
		return nil, refused(err)
	}
	return s, nil
}

func open(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil { // its text has the URL
		return nil, fmt.Errorf("%w: the database's URL cannot be read: want postgres://user:password@host:5432/database", store.ErrConfig)
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "holdfast"
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, classify("opening", "", err)
	}
	return pool, nil
}

// refused classifies an error of a first connection, where the database's
// refusals are of classes that mean something else later.
func refused(err error) error {
	switch code := state(err); {
	case len(code) == 5 && (code[:2] == "28" || code == codeNoDatabase):
		return fmt.Errorf("%w: connecting: %w", store.ErrRefused, err)
	}
	return classify("connecting", "", err)
}

// Close ends what the store has opened; a second call does nothing. What is
// under way with a pool of its own is waited for.
func (s *Store) Close() {
	s.bell.close()
	if s.own {
		s.pool.Close()
	}
}

// limits hold for one transaction: nobody's lock may hang a relay.
const limits = `SELECT set_config('lock_timeout', '5s', true), set_config('statement_timeout', '30s', true)`

// answerLimit is how long a transaction may take in all. The limits above do
// not hold while a statement is prepared, nor for a connection that is dead
// without either end knowing it.
const answerLimit = 35 * time.Second

// straight holds for one transaction whose plan must not depend on statistics
// that nobody has gathered yet: the planner walks the index that was made for
// the statement, and never the rows that were published.
const straight = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('enable_sort', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

// brief sends statements in one round trip, which are one transaction.
func (s *Store) brief(ctx context.Context, doing, grants string, queue func(*pgx.Batch)) error {
	b := &pgx.Batch{}
	b.Queue(limits)
	queue(b)
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	err := s.pool.SendBatch(limited, b).Close()
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w within %v: %s: the connection is dead, or somebody holds a lock on the table (pg_locks)",
			store.ErrUnreachable, answerLimit, doing)
	}
	return classify(doing, s.grants(grants), err)
}

// inTx runs fn in a transaction and commits it when fn returns nil.
func (s *Store) inTx(ctx context.Context, doing, grants string, fn func(pgx.Tx) error) error {
	return classify(doing, s.grants(grants), pgx.BeginFunc(ctx, s.pool, fn))
}
