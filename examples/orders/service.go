package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/classify/sqlstate"
	"github.com/holdfast-mq/holdfast/inbox"
	"github.com/holdfast-mq/holdfast/store/postgres"
)

// service is what the parts share.
type service struct {
	amqp   string
	pool   *pgxpool.Pool
	tables *postgres.Store // outbox, inbox and what is set aside, in the schema "holdfast" of the same database
	rmq    *rabbitmq.Broker
}

// open connects to the database and makes the tables. What it has opened by
// the time of an error, close closes.
func (s *service) open(ctx context.Context) (err error) {
	database := os.Getenv("DATABASE_URL")
	s.amqp = os.Getenv("AMQP_URL")
	if database == "" || s.amqp == "" {
		return errors.New("set DATABASE_URL, as in postgres://user:password@127.0.0.1/orders, and AMQP_URL, as in amqp://guest:guest@127.0.0.1:5672/")
	}
	if s.rmq, err = rabbitmq.Open(ctx, rabbitmq.Config{URL: s.amqp}); err != nil { // connects when it must, and as often
		return err
	}
	if s.pool, err = pgxpool.New(ctx, database); err != nil {
		return err
	}
	if s.tables, err = postgres.Open(ctx, postgres.Config{Pool: s.pool}); err != nil {
		return err
	}
	// Where a service may not make tables, `holdfast migrate` has made them.
	if err = s.tables.Migrate(ctx); err != nil {
		return err
	}
	return s.migrate(ctx)
}

func (s *service) close() {
	if s.rmq != nil {
		_ = s.rmq.Close()
	}
	if s.tables != nil {
		s.tables.Close()
	}
	if s.pool != nil {
		s.pool.Close()
	}
}

// consume runs a consumer of one queue.
func (s *service) consume(queue string, handler holdfast.Handler) part {
	return func(ctx context.Context) error {
		c, err := holdfast.NewConsumer(s.rmq, holdfast.ConsumerConfig{
			Queue: queue, Handler: handler, Concurrency: 4,
			Policy:   holdfast.Policy{Classify: sqlstate.Classify}, // an outage of the database is nobody's fault
			Observer: holdfast.LogObserver(slog.Default()),
		})
		if err != nil {
			return err
		}
		return c.Run(ctx)
	}
}

// once applies a message in one transaction with the record that it was
// applied. A duplicate is no error: there is nothing left to do.
func (s *service) once(ctx context.Context, consumer string, m *holdfast.Message, apply func(ctx context.Context, tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		r, err := inbox.Once(ctx, s.tables.Tx(tx), consumer, inbox.Of(m), func(ctx context.Context) error { return apply(ctx, tx) })
		if r.Outcome == inbox.Duplicate {
			slog.DebugContext(ctx, "a duplicate", "consumer", consumer, "id", m.ID, "first", r.Earlier.At)
		}
		return err
	})
}
