package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/store"
)

const groupsSQL = `
SELECT state, destination, class, count(*), greatest(0, extract(epoch FROM clock_timestamp() - min(
	CASE state WHEN 'publishing' THEN publishing_since ELSE greatest(created_at, not_before) END)))::float8
FROM {Outbox} GROUP BY state, destination, class ORDER BY state, destination, class`

// blockersSQL finds who has written to the outbox, or locked rows of it, and
// has not ended his transaction. Younger ones are the traffic of any moment.
const blockersSQL = `
SELECT a.pid, coalesce(a.usename, ''), coalesce(a.application_name, ''), coalesce(a.state, ''),
	extract(epoch FROM clock_timestamp() - a.xact_start)::float8, coalesce(a.query, '')
FROM pg_stat_activity a
WHERE a.xact_start < clock_timestamp() - interval '1 second' AND a.pid <> pg_backend_pid() AND EXISTS (
	SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.granted AND l.locktype = 'relation'
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND l.relation = '{Outbox}'::regclass AND l.mode <> 'AccessShareLock')
ORDER BY a.xact_start`

// Status implements [store.Outbox]. It reads the whole table. Who may not read
// the statistics of others (pg_read_all_stats) sees of their transactions the
// pid alone, and only those whose age the server shows.
func (s *Store) Status(ctx context.Context) (store.Status, error) {
	var status store.Status
	err := s.brief(ctx, "counting", "SELECT ON {Outbox}; GRANT SELECT ON {Relays}; GRANT SELECT ON {Leases}", func(b *pgx.Batch) {
		b.Queue(s.sql(groupsSQL)).Query(func(rows pgx.Rows) (err error) {
			status.Groups, err = pgx.CollectRows(rows, toGroup)
			return err
		})
		b.Queue(s.sql(blockersSQL)).Query(func(rows pgx.Rows) (err error) {
			status.Blockers, err = pgx.CollectRows(rows, toBlocker)
			return err
		})
		s.queueStanding(b, &status.Standing)
	})
	return status, err
}

func toGroup(row pgx.CollectableRow) (g store.Group, err error) {
	var oldest float64
	err = row.Scan(&g.State, &g.Destination, &g.Class, &g.Count, &oldest)
	g.Oldest = seconds(oldest)
	return g, err
}

func toBlocker(row pgx.CollectableRow) (b store.Blocker, err error) {
	var age float64
	err = row.Scan(&b.PID, &b.User, &b.Application, &b.State, &age, &b.Query)
	b.Age, b.Query = seconds(age), withoutValues(b.Query)
	return b, err
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
