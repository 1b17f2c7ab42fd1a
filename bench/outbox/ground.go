package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	bodySize = 256

	// runTime is far above what any run takes.
	runTime = 10 * time.Minute

	verifyTime = 10 * time.Second
	verifyStep = 20 * time.Millisecond
)

// ground is the database and the broker to measure on.
type ground struct {
	options
	pool   *pgxpool.Pool
	conn   *amqp.Connection
	ch     *amqp.Channel
	broker string // product and version

	old *schema // with the published rows, once there is one
}

func openGround(ctx context.Context, o options) (*ground, error) {
	g := &ground{options: o}
	var err error
	if g.pool, err = pgxpool.New(ctx, o.postgres); err != nil {
		return nil, errors.New("HOLDFAST_POSTGRES is no URL of a PostgreSQL") // the error may show the password
	}
	if err := g.pool.Ping(ctx); err != nil {
		return nil, err
	}
	if g.conn, err = amqp.Dial(o.amqp); err != nil {
		return nil, fmt.Errorf("RabbitMQ: %w", err)
	}
	if g.ch, err = g.conn.Channel(); err != nil {
		return nil, err
	}
	version, _ := g.conn.Properties["version"].(string)
	g.broker = "RabbitMQ " + version
	return g, nil
}

func (g *ground) close() {
	if g.old != nil {
		g.old.drop()
	}
	g.pool.Close()
	_ = g.conn.Close()
}

// unique is a name that nobody else has.
func unique() string { return "bench_" + strings.ToLower(rand.Text()[:10]) }

// queue declares a queue for one run; the default exchange leads to it.
func (g *ground) declare() (name string, remove func(), err error) {
	name = unique()
	_, err = g.ch.QueueDeclare(name, true, false, false, false, amqp.Table{"x-queue-type": g.queue})
	return name, func() { _, _ = g.ch.QueueDelete(name, false, false, false) }, err
}

// verify makes sure that the queue has every row, and none twice. It polls, since a queue may tell an older count for a
// moment.
func (g *ground) verify(ctx context.Context, queue string, want int) error {
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	for {
		q, err := g.ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		if err != nil {
			return err
		}
		if q.Messages == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the queue has %d messages and should have %d", q.Messages, want)
		case <-time.After(verifyStep):
		}
	}
}
