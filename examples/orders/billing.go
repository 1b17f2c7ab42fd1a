package main

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/inbox"
	"github.com/holdfast-mq/holdfast/outbox"
)

// bill is the bounded context of billing.
func (s *service) bill(ctx context.Context) error {
	s.declared(ctx)
	return together(ctx,
		s.consume(placed.Queue(billing), placed.Handler(s.onPlaced)),
		s.consume(paid.Queue(billing), paid.Handler(s.onPaid)))
}

// onPlaced writes the invoice, and tells of it: both, or neither. A second
// invoice of an order would be refused by the database, and parked for that.
func (s *service) onPlaced(ctx context.Context, o Order, m *holdfast.Message) error {
	return s.once(ctx, billing, m, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO invoices (order_id, cents) VALUES ($1, $2)", o.ID, o.Cents); err != nil {
			return err
		}
		return invoiced.Add(ctx, s.tables.Tx(tx), Invoice{Order: o.ID, Customer: o.Customer, Cents: o.Cents}, outbox.InOrderOf(o.Customer))
	})
}

// onPaid sets a payment aside that comes before its invoice. Nothing is wrong
// with it, and nobody knows when its time comes.
func (s *service) onPaid(ctx context.Context, p Payment, m *holdfast.Message) error {
	return s.once(ctx, billing, m, func(ctx context.Context, tx pgx.Tx) error {
		done, err := tx.Exec(ctx, "UPDATE invoices SET paid = paid + $2 WHERE order_id = $1", p.Order, p.Cents)
		if err != nil || done.RowsAffected() > 0 {
			return err
		}
		return inbox.SetAside(ctx, s.tables.Tx(tx), billing, m, "no_invoice", "there is no invoice of order "+p.Order)
	})
}
