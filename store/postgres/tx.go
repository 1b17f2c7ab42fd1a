package postgres

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/store"
)

// Tx is a transaction of the caller, as a producer and a consumer write to it.
// It implements [store.OutboxTx], [store.InboxTx] and [store.SetAsideTx], and
// is made by [Layout.Tx] or [Layout.SQLTx].
//
// After an error of the database, PostgreSQL lets the transaction only be
// rolled back. What is refused with [store.ErrConfig] was not sent, unless the
// text names the database's own error.
type Tx struct {
	layout Layout
	conn   conn
}

var (
	_ store.OutboxTx   = (*Tx)(nil)
	_ store.InboxTx    = (*Tx)(nil)
	_ store.SetAsideTx = (*Tx)(nil)
)

// conn is what is needed of a transaction, of either kind.
type conn interface {
	exec(ctx context.Context, statement string, args ...any) error
	queryRow(ctx context.Context, statement string, args ...any) scanner

	// add executes a statement that reads entries where it has {entries}, in
	// one round trip.
	add(ctx context.Context, statement string, entries []store.Entry) error
}

type scanner interface{ Scan(into ...any) error }

type pgxTx struct{ tx pgx.Tx }

func (c pgxTx) exec(ctx context.Context, statement string, args ...any) error {
	_, err := c.tx.Exec(ctx, statement, args...)
	return err
}

func (c pgxTx) queryRow(ctx context.Context, statement string, args ...any) scanner {
	return c.tx.QueryRow(ctx, statement, args...)
}

type sqlTx struct{ tx *sql.Tx }

func (c sqlTx) exec(ctx context.Context, statement string, args ...any) error {
	_, err := c.tx.ExecContext(ctx, statement, args...)
	return err
}

func (c sqlTx) queryRow(ctx context.Context, statement string, args ...any) scanner {
	return c.tx.QueryRowContext(ctx, statement, args...)
}
