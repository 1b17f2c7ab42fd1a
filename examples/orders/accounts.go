package main

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast"
)

// account is the bounded context of accounts.
func (s *service) account(ctx context.Context) error {
	s.declared(ctx)
	return s.consume(invoiced.Queue(accounts), invoiced.Handler(s.onInvoiced))(ctx)
}

// onInvoiced adds the invoice to the customer's balance. Done twice, it would be
// wrong and nothing would tell.
func (s *service) onInvoiced(ctx context.Context, i Invoice, m *holdfast.Message) error {
	return s.once(ctx, accounts, m, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO accounts AS a VALUES ($1, 1, $2)
			ON CONFLICT (customer) DO UPDATE SET invoices = a.invoices + 1, cents = a.cents + excluded.cents`, i.Customer, i.Cents)
		return err
	})
}
