package sqlite

import (
	"context"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// groupsSQL counts each state by the index that it has: the rows themselves,
// with their payloads, are not read.
const groupsSQL = `
SELECT state, destination, class, count(*), max({now} - min(since), 0) FROM (
	SELECT state, destination, class, CASE state WHEN 'publishing' THEN publishing_since ELSE coalesce(not_before, created_at) END AS since
	FROM {outbox} WHERE open
	UNION ALL SELECT state, destination, class, not_before FROM {outbox} WHERE scheduled
	UNION ALL SELECT state, destination, class, CASE state WHEN 'publishing' THEN publishing_since ELSE created_at END
	FROM {outbox} WHERE state = 'failed' OR for_human
	UNION ALL SELECT 'published', destination, class, created_at FROM {outbox} WHERE state = 'published'
) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`

// Status implements [store.Outbox]. Blockers are never known: SQLite does not
// say who has a file open.
func (s *Store) Status(ctx context.Context) (status store.Status, err error) {
	err = s.read(ctx, "counting the outbox", func(tx on) (err error) {
		status.Groups, err = collect(ctx, tx, "counting the outbox", func(row scanner) (g store.Group, err error) {
			var micros int64
			err = row.Scan(&g.State, &g.Destination, &g.Class, &g.Count, &micros)
			g.Oldest = time.Duration(micros) * time.Microsecond
			return g, err
		}, s.sql(groupsSQL))
		if err == nil {
			status.Standing, err = s.standing(ctx, tx)
		}
		return err
	})
	return status, err
}
