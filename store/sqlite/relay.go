package sqlite

import (
	"context"
	"database/sql"

	"github.com/holdfast-mq/holdfast/store"
)

// Beat implements [store.Outbox].
func (s *Store) Beat(ctx context.Context, self store.Relay) (standing store.Standing, err error) {
	const statement = `
INSERT INTO {relays} (id, name, beat, settings, idle, seen_at) VALUES (?, ?, 1, ?, ?, {now})
ON CONFLICT (id) DO UPDATE SET beat = beat + 1,
	name = excluded.name, settings = excluded.settings, idle = excluded.idle, seen_at = excluded.seen_at`
	err = s.write(ctx, "beating", func(tx on) (err error) {
		if _, err = count(ctx, tx, "beating", s.sql(statement), self.ID, self.Name, self.Settings, self.Idle); err != nil {
			return err
		}
		standing, err = s.standing(ctx, tx)
		return err
	})
	return standing, err
}

func (s *Store) standing(ctx context.Context, tx on) (standing store.Standing, err error) {
	standing.Relays, err = collect(ctx, tx, "reading the relays", func(row scanner) (r store.Relay, err error) {
		var seen sql.NullInt64
		err = row.Scan(&r.ID, &r.Name, &r.Beat, &r.Settings, &r.Idle, &seen)
		r.SeenAt = timeOf(seen)
		return r, err
	}, s.sql(`SELECT id, name, beat, settings, idle, seen_at FROM {relays} ORDER BY id`))
	if err != nil {
		return standing, err
	}
	standing.Leases, err = collect(ctx, tx, "reading the leases", func(row scanner) (l store.Lease, err error) {
		err = row.Scan(&l.Lane, &l.Relay, &l.Token)
		return l, err
	}, s.sql(`SELECT lane, relay, token FROM {leases} ORDER BY lane`))
	return standing, err
}

// Take implements [store.Outbox].
func (s *Store) Take(ctx context.Context, relay string, seen []store.Lease) (taken []store.Lease, err error) {
	const statement = `UPDATE {leases} SET relay = ?, token = token + 1 WHERE lane = ? AND relay = ? AND token = ?`
	err = s.write(ctx, "taking leases", func(tx on) error {
		for _, l := range seen {
			n, err := count(ctx, tx, "taking leases", s.sql(statement), relay, l.Lane, l.Relay, l.Token)
			if err != nil {
				return err
			}
			if n > 0 {
				taken = append(taken, store.Lease{Lane: l.Lane, Relay: relay, Token: l.Token + 1})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// Yield implements [store.Outbox].
func (s *Store) Yield(ctx context.Context, relay string, held []store.Lease, gone bool) error {
	return s.write(ctx, "yielding leases", func(tx on) error {
		for _, l := range held {
			_, err := count(ctx, tx, "yielding leases",
				s.sql(`UPDATE {leases} SET relay = '' WHERE lane = ? AND relay = ? AND token = ?`), l.Lane, relay, l.Token)
			if err != nil {
				return err
			}
		}
		if !gone {
			return nil
		}
		_, err := count(ctx, tx, "leaving", s.sql(`DELETE FROM {relays} WHERE id = ?`), relay)
		return err
	})
}

// Forget implements [store.Outbox].
func (s *Store) Forget(ctx context.Context, relays []string) error {
	const statement = `
DELETE FROM {relays} WHERE id IN (SELECT value FROM json_each(?)) AND id NOT IN (SELECT relay FROM {leases})`
	return s.write(ctx, "forgetting relays", func(tx on) error {
		_, err := count(ctx, tx, "forgetting relays", s.sql(statement), jsonOf(append([]string{}, relays...)))
		return err
	})
}
