package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/postgres"
)

// fillBatch is how many rows a transaction adds while a table is filled.
const fillBatch = 1_000

// schema is an outbox in a schema of its own.
type schema struct {
	ground *ground
	name   string
	store  *postgres.Store
}

func (g *ground) newSchema(ctx context.Context) (*schema, error) {
	s := &schema{ground: g, name: unique()}
	var err error
	if s.store, err = postgres.Open(ctx, postgres.Config{URL: g.postgres, Layout: postgres.Layout{Schema: s.name}}); err != nil {
		return nil, err
	}
	if err := s.store.Migrate(ctx); err != nil {
		s.drop()
		return nil, err
	}
	return s, nil
}

// oldSchema is one that has published a lot already. It serves all rounds.
func (g *ground) oldSchema(ctx context.Context) (*schema, error) {
	if g.old != nil {
		return g.old, nil
	}
	s, err := g.newSchema(ctx)
	if err != nil {
		return nil, err
	}
	say("  %d published rows", g.published)
	_, err = g.pool.Exec(ctx, fmt.Sprintf(`
		INSERT INTO %s.outbox (id, lane, state, destination, keys, payload, created_at, publishing_since, published_at, relay, token)
		SELECT gen_random_uuid(), n %% %d, 'published', '', ARRAY['before'], decode(repeat('2a', %d), 'hex'), at, at, at, 'before', 1
		FROM generate_series(1, %d) n, LATERAL (SELECT now() - interval '1 day' + n * interval '1 ms' AS at) t`,
		s.name, store.Lanes, bodySize, g.published))
	if err != nil {
		s.drop()
		return nil, err
	}
	g.old = s
	return s, nil
}

// drop also works after an interrupt.
func (s *schema) drop() {
	s.store.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := s.ground.pool.Exec(ctx, "DROP SCHEMA IF EXISTS "+s.name+" CASCADE"); err != nil {
		say("  the schema %s is left behind: %v", s.name, err)
	}
}

// fill adds n messages to the queue, with that many ordering keys in turn; 0 for none. Then the table is as the server's
// own housekeeping leaves it.
func (s *schema) fill(ctx context.Context, queue string, n, keys int) error {
	err := fill(n, func(first, n int) error {
		return pgx.BeginFunc(ctx, s.ground.pool, func(tx pgx.Tx) error {
			return outbox.Add(ctx, s.store.Tx(tx), messages(queue, first, n, keys)...)
		})
	})
	if err == nil {
		_, err = s.ground.pool.Exec(ctx, "VACUUM ANALYZE "+s.name+".outbox")
	}
	return err
}

// fill calls add for one batch after the other.
func fill(n int, add func(first, n int) error) error {
	for first := 0; first < n; first += fillBatch {
		if err := add(first, min(fillBatch, n-first)); err != nil {
			return fmt.Errorf("filling: %w", err)
		}
	}
	return nil
}

func messages(queue string, first, n, keys int) []outbox.Message {
	all := make([]outbox.Message, n)
	for i := range all {
		all[i] = outbox.Message{Key: queue, Payload: make([]byte, bodySize)}
		if keys > 0 {
			all[i].OrderingKey = fmt.Sprintf("key-%d", (first+i)%keys)
		}
	}
	return all
}
