package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mq/holdfast/outbox"
)

const (
	addClients = 8
	addEach    = 500 // transactions of each client
)

// producer is a service whose transactions write one row of its own.
type producer struct {
	*schema
	insert string
}

func newProducer(ctx context.Context, g *ground) (*producer, error) {
	s, err := g.newSchema(ctx)
	if err != nil {
		return nil, err
	}
	_, err = g.pool.Exec(ctx, "CREATE TABLE "+s.name+".orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body bytea NOT NULL)")
	if err != nil {
		s.drop()
		return nil, err
	}
	return &producer{s, "INSERT INTO " + s.name + ".orders (body) VALUES ($1)"}, nil
}

func measureAdd(ctx context.Context, g *ground) ([]row, error) {
	rows, err := measureTrips(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("round trips: %w", err)
	}
	cost, err := measureCost(ctx, g)
	if err != nil {
		return rows, fmt.Errorf("outbox.Add: %w", err)
	}
	return append(rows, cost), nil
}

// measureCost compares transactions of addClients at once with and without a message.
func measureCost(ctx context.Context, g *ground) (row, error) {
	say("outbox.Add, %d rounds of %d transactions", g.rounds, addClients*addEach)
	rates := map[bool][]float64{}
	for round := range g.rounds {
		for i := range 2 {
			with := (round+i)%2 == 0
			rate, err := produce(ctx, g, with)
			if err != nil {
				return row{}, err
			}
			say("  round %d: with a message %-5v %8.0f tx/s", round+1, with, rate)
			rates[with] = append(rates[with], rate)
		}
	}
	return compare(fmt.Sprintf("%d clients: a row and outbox.Add / the row alone", addClients), "tx/s", rates[true], rates[false]), nil
}

func produce(ctx context.Context, g *ground, with bool) (float64, error) {
	p, err := newProducer(ctx, g)
	if err != nil {
		return 0, err
	}
	defer p.drop()
	config := g.pool.Config()
	config.MaxConns = addClients
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	if err := p.everyClient(ctx, pool, addEach/10, with); err != nil { // connects, and prepares what is prepared
		return 0, err
	}
	start := time.Now()
	err = p.everyClient(ctx, pool, addEach, with)
	return addClients * addEach / time.Since(start).Seconds(), err
}

func (p *producer) everyClient(ctx context.Context, pool *pgxpool.Pool, each int, with bool) error {
	clients, ctx := errgroup.WithContext(ctx)
	for range addClients {
		clients.Go(func() error {
			for range each {
				err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return p.work(ctx, tx, with) })
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return clients.Wait()
}

func (p *producer) work(ctx context.Context, tx pgx.Tx, with bool) error {
	if _, err := tx.Exec(ctx, p.insert, make([]byte, bodySize)); err != nil || !with {
		return err
	}
	return outbox.Add(ctx, p.store.Tx(tx), messages("orders", 0, 1, 0)...)
}
