package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/outbox"
)

// measureTrips counts on the wire what outbox.Add adds to a transaction on a connection of which nothing was asked
// before.
func measureTrips(ctx context.Context, g *ground) ([]row, error) {
	p, err := newProducer(ctx, g)
	if err != nil {
		return nil, err
	}
	defer p.drop()
	w, err := openWire(g.postgres)
	if err != nil {
		return nil, err
	}
	defer w.close()
	var rows []row
	for _, d := range []struct {
		name  string
		trips func(ctx context.Context, w *wire, with bool) (int64, error)
	}{{"pgx.Tx", p.pgxTrips}, {"sql.Tx", p.sqlTrips}} {
		without, err := d.trips(ctx, w, false)
		with, err2 := d.trips(ctx, w, true)
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		say("outbox.Add, %s: %d round trips in a transaction, %d without", d.name, with, without)
		added := float64(with - without)
		rows = append(rows, compare("outbox.Add on "+d.name+": round trips added / the bound of 1", "trips", []float64{added}, []float64{1}).most(1))
	}
	return rows, nil
}

func (p *producer) pgxTrips(ctx context.Context, w *wire, with bool) (int64, error) {
	conn, err := pgx.Connect(ctx, w.url)
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	before := w.ready.Load()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return p.work(ctx, tx, with) })
	return w.ready.Load() - before, err
}

func (p *producer) sqlTrips(ctx context.Context, w *wire, with bool) (int64, error) {
	db, err := sql.Open("pgx", w.url)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return 0, err
	}
	before := w.ready.Load()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it changes nothing
	if _, err := tx.ExecContext(ctx, p.insert, make([]byte, bodySize)); err != nil {
		return 0, err
	}
	if with {
		if err := outbox.Add(ctx, p.store.SQLTx(tx), messages("orders", 0, 1, 0)...); err != nil {
			return 0, err
		}
	}
	err = tx.Commit()
	return w.ready.Load() - before, err
}
