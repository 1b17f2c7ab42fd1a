package schema

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
)

// makeSchema makes the schema that goose's version table will lie in. It looks
// first: CREATE SCHEMA IF NOT EXISTS is refused to who may not create one, even
// when it is there.
func (s Set) makeSchema(ctx context.Context, db *sql.DB) error {
	if s.Schema == "" {
		return nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", lockKey(s.Schema)); err != nil {
		return fmt.Errorf("waiting for another migration: %w", err)
	}
	var there bool
	err = tx.QueryRowContext(ctx, "SELECT to_regnamespace($1) IS NOT NULL", s.Schema).Scan(&there)
	if err == nil && !there {
		_, err = tx.ExecContext(ctx, "CREATE SCHEMA "+s.Schema)
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

// locker lets one process at a time migrate one set on PostgreSQL. goose's own
// looks every five seconds; this one waits at the server.
type locker struct{ key int64 }

func (l locker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", l.key); err != nil {
		return fmt.Errorf("waiting for another migration: %w", err)
	}
	return nil
}

func (l locker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", l.key)
	return err
}

// lockKey makes of a name what PostgreSQL's advisory locks are told apart by.
func lockKey(name string) int64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "holdfast %s", name)
	return int64(h.Sum64())
}
