package main

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// schema is the service's own. What its database refuses twice, an order or an
// invoice, is a backstop: the inbox is to let none come so far. A balance has
// no such thing, as most effects have none.
const schema = `
CREATE TABLE IF NOT EXISTS orders   (id text PRIMARY KEY, customer text NOT NULL, cents bigint NOT NULL);
CREATE TABLE IF NOT EXISTS payments (id text PRIMARY KEY, order_id text NOT NULL, cents bigint NOT NULL);
CREATE TABLE IF NOT EXISTS invoices (order_id text PRIMARY KEY, cents bigint NOT NULL, paid bigint NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS accounts (customer text PRIMARY KEY, invoices bigint NOT NULL, cents bigint NOT NULL);`

// migrate makes the tables. Two processes that start at once wait for each
// other.
func (s *service) migrate(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('orders'))"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, schema)
		return err
	})
}
