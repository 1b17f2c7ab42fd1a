package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"
)

const bareBatch = 500

// bare is the loop that one would write by hand: it holds a transaction open while it publishes, knows no order, no
// lease and no unknown outcome, and stops at whatever goes wrong.
func bare(ctx context.Context, g *ground, queue string, rows int) (site, error) {
	table := unique()
	remove := func() { g.dropTable(table) }
	_, err := g.pool.Exec(ctx, fmt.Sprintf(`
		CREATE TABLE %[1]s (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, message_id uuid NOT NULL DEFAULT gen_random_uuid(),
			key text NOT NULL, payload bytea NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), published_at timestamptz);
		CREATE INDEX ON %[1]s (id) WHERE published_at IS NULL`, table))
	if err == nil {
		_, err = g.pool.Exec(ctx, fmt.Sprintf(`INSERT INTO %s (key, payload) SELECT $1, decode(repeat('2a', %d), 'hex') FROM generate_series(1, $2)`,
			table, bodySize), queue, rows)
	}
	if err == nil {
		_, err = g.pool.Exec(ctx, "VACUUM ANALYZE "+table)
	}
	if err != nil {
		remove()
		return site{}, err
	}
	return site{func(ctx context.Context, m *meter) error { return runBare(ctx, g, table, m) }, remove}, nil
}

func (g *ground) dropTable(table string) {
	if _, err := g.pool.Exec(context.Background(), "DROP TABLE IF EXISTS "+table); err != nil {
		say("  the table %s is left behind: %v", table, err)
	}
}

func runBare(ctx context.Context, g *ground, table string, m *meter) error {
	conn, err := amqp.Dial(g.amqp)
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err == nil {
		err = ch.Confirm(false)
	}
	if err != nil {
		return err
	}
	returned := ch.NotifyReturn(make(chan amqp.Return, bareBatch))
	for ctx.Err() == nil {
		n, err := bareOnce(ctx, g.pool, table, ch)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if len(returned) > 0 {
			return errors.New("a message was returned")
		}
		m.add(n)
	}
	return nil
}

func bareOnce(ctx context.Context, pool *pgxpool.Pool, table string, ch *amqp.Channel) (n int, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "SELECT id, message_id::text, key, payload, created_at FROM "+table+
			" WHERE published_at IS NULL ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED", bareBatch)
		if err != nil {
			return err
		}
		var ids []int64
		var waiting []*amqp.DeferredConfirmation
		var id int64
		var key string
		p := amqp.Publishing{DeliveryMode: amqp.Persistent}
		_, err = pgx.ForEachRow(rows, []any{&id, &p.MessageId, &key, &p.Body, &p.Timestamp}, func() error {
			c, err := ch.PublishWithDeferredConfirm("", key, true, false, p)
			ids, waiting = append(ids, id), append(waiting, c)
			return err
		})
		if err != nil {
			return err
		}
		for _, c := range waiting {
			if stored, err := c.WaitContext(ctx); err != nil || !stored {
				return errors.Join(err, errors.New("a message was not confirmed"))
			}
		}
		n = len(ids)
		_, err = tx.Exec(ctx, "UPDATE "+table+" SET published_at = now() WHERE id = ANY($1)", ids)
		return err
	})
	return n, err
}
