package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/store"
)

const (
	grantRelays = "SELECT, INSERT, UPDATE, DELETE ON {Relays}"
	grantLeases = "SELECT, UPDATE ON {Leases}"
)

const (
	beatSQL = `
INSERT INTO {Relays} AS r (id, name, beat, settings, idle, seen_at) VALUES ($1, $2, 1, $3, $4, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET name = $2, beat = r.beat + 1, settings = $3, idle = $4, seen_at = clock_timestamp()`

	relaysSQL = `SELECT id, name, beat, settings, idle, seen_at FROM {Relays} ORDER BY id`
	leasesSQL = `SELECT lane, relay, token FROM {Leases} ORDER BY lane`
)

// Beat implements [store.Outbox].
func (s *Store) Beat(ctx context.Context, self store.Relay) (store.Standing, error) {
	var standing store.Standing
	err := s.brief(ctx, "beating", grantRelays+"; GRANT "+grantLeases, func(b *pgx.Batch) {
		b.Queue(s.sql(beatSQL), self.ID, asText(self.Name), asText(self.Settings), self.Idle)
		s.queueStanding(b, &standing)
	})
	return standing, err
}

func (s *Store) queueStanding(b *pgx.Batch, standing *store.Standing) {
	b.Queue(s.sql(relaysSQL)).Query(func(rows pgx.Rows) error {
		var err error
		standing.Relays, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r store.Relay, err error) {
			err = row.Scan(&r.ID, &r.Name, &r.Beat, &r.Settings, &r.Idle, &r.SeenAt)
			r.SeenAt = r.SeenAt.UTC()
			return r, err
		})
		return err
	})
	b.Queue(s.sql(leasesSQL)).Query(func(rows pgx.Rows) (err error) {
		standing.Leases, err = pgx.CollectRows(rows, toLease)
		return err
	})
}

func toLease(row pgx.CollectableRow) (l store.Lease, err error) {
	return l, row.Scan(&l.Lane, &l.Relay, &l.Token)
}

// The rows are locked in the order of the lanes, so that two who take many
// cannot wait for each other; what changed meanwhile falls out.
const takeSQL = `
WITH seen AS (
	SELECT * FROM unnest($2::smallint[], $3::text[], $4::bigint[]) AS s (lane, relay, token)
), mine AS MATERIALIZED (
	SELECT l.lane FROM {Leases} l JOIN seen s ON l.lane = s.lane AND l.relay = s.relay AND l.token = s.token
	ORDER BY l.lane FOR UPDATE OF l
)
UPDATE {Leases} l SET relay = $1, token = l.token + 1 FROM mine WHERE l.lane = mine.lane
RETURNING l.lane, l.relay, l.token`

// Take implements [store.Outbox].
func (s *Store) Take(ctx context.Context, relay string, seen []store.Lease) ([]store.Lease, error) {
	var taken []store.Lease
	err := s.brief(ctx, "taking leases", grantLeases, func(b *pgx.Batch) {
		lanes, relays, tokens := columns(seen)
		b.Queue(s.sql(takeSQL), relay, lanes, relays, tokens).Query(func(rows pgx.Rows) (err error) {
			taken, err = pgx.CollectRows(rows, toLease)
			return err
		})
	})
	return taken, err
}

const yieldSQL = `
WITH mine AS MATERIALIZED (
	SELECT l.lane FROM {Leases} l JOIN unnest($2::smallint[], $3::bigint[]) AS h (lane, token)
		ON l.lane = h.lane AND l.token = h.token AND l.relay = $1
	ORDER BY l.lane FOR UPDATE OF l
)
UPDATE {Leases} l SET relay = '' FROM mine WHERE l.lane = mine.lane`

// Yield implements [store.Outbox].
func (s *Store) Yield(ctx context.Context, relay string, held []store.Lease, gone bool) error {
	return s.brief(ctx, "giving up leases", grantLeases+"; GRANT "+grantRelays, func(b *pgx.Batch) {
		lanes, _, tokens := columns(held)
		b.Queue(s.sql(yieldSQL), relay, lanes, tokens)
		if gone {
			b.Queue(s.sql(`DELETE FROM {Relays} WHERE id = $1`), relay)
		}
	})
}

// Forget implements [store.Outbox].
func (s *Store) Forget(ctx context.Context, relays []string) error {
	return s.brief(ctx, "forgetting relays", grantRelays, func(b *pgx.Batch) {
		b.Queue(s.sql(`DELETE FROM {Relays} r WHERE r.id = ANY($1::text[])
			AND NOT EXISTS (SELECT FROM {Leases} l WHERE l.relay = r.id)`), relays)
	})
}

func columns(leases []store.Lease) (lanes []int16, relays []string, tokens []int64) {
	for _, l := range leases {
		lanes, relays, tokens = append(lanes, int16(l.Lane)), append(relays, l.Relay), append(tokens, l.Token)
	}
	return lanes, relays, tokens
}
