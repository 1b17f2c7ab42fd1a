// Package postgres keeps an outbox, an inbox and what is set aside in
// PostgreSQL 15 or later, through pgx. It implements the facets of package
// store.
//
// A producer or a consumer wraps its own transaction:
//
//	layout := postgres.Layout{}        // the schema "holdfast"
//	err := outbox.Add(ctx, layout.Tx(tx), …)    // a pgx.Tx
//	err := outbox.Add(ctx, layout.SQLTx(tx), …) // a *sql.Tx of any driver
//
// A relay and an operator open a [Store]. The tables, the grants that each role
// needs and what holds rows back are in docs/postgres.md.
package postgres
