package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-mq/holdfast/store"
)

// underWay are rows that somebody has claimed, through the two small indexes:
// most of the table was published long ago.
const underWay = `(
	SELECT * FROM {Outbox} WHERE open AND state = 'publishing'
	UNION ALL
	SELECT * FROM {Outbox} WHERE stopped AND state = 'publishing'
)`

// liveLease is the lease of a row whose relay is alive and at work on it.
const liveLease = `SELECT FROM {Leases} l WHERE l.lane = o.lane AND l.token = o.token AND l.relay = ANY($1::text[])`

const stuckSQL = `
SELECT ` + rowDigest + ` FROM ` + underWay + ` o
WHERE o.publishing_since < clock_timestamp() - $2::bigint * interval '1 microsecond' AND (o.for_human OR NOT EXISTS (` + liveLease + `))
ORDER BY o.publishing_since LIMIT $3`

const stuckTotalSQL = `
SELECT count(*) FROM ` + underWay + ` o WHERE o.publishing_since < clock_timestamp() - $1::bigint * interval '1 microsecond'`

// Stuck implements [store.Outbox]. The rows come without their payloads.
func (s *Store) Stuck(ctx context.Context, age time.Duration, alive []string, limit int) ([]store.Row, int, error) {
	var stuck []store.Row
	var total int
	err := s.brief(ctx, "looking for stuck rows", grantClaim, func(b *pgx.Batch) {
		b.Queue(s.sql(stuckSQL), list(alive), age.Microseconds(), limit).Query(collect(&stuck))
		b.Queue(s.sql(stuckTotalSQL), age.Microseconds()).QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	})
	return stuck, total, err
}

const failSQL = `
UPDATE {Outbox} SET state = 'failed', for_human = false, class = $3, error = $4, error_at = clock_timestamp(), retry_at = NULL
WHERE id = $1::uuid AND token = $2 AND state = 'publishing'`

// Fail implements [store.Outbox].
func (s *Store) Fail(ctx context.Context, id string, token int64, class store.Class, text string, timeout time.Duration) (bool, error) {
	if !store.IsID(id) {
		return false, nil
	}
	var moved bool
	err := s.brief(ctx, "failing the row "+id, grantClaim, func(b *pgx.Batch) {
		b.Queue(`SELECT set_config('statement_timeout', $1, true)`, fmt.Sprintf("%dms", max(timeout.Milliseconds(), 1)))
		b.Queue(s.sql(failSQL), id, token, string(class), asText(text)).Exec(func(tag pgconn.CommandTag) error {
			moved = tag.RowsAffected() == 1
			return nil
		})
	})
	return moved && err == nil, err
}
