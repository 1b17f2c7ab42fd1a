package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// overSQL is true of a row that is Publishing and nobody's work any more. ?1
// are the relays that are alive.
const overSQL = `(o.for_human OR NOT EXISTS (SELECT 1 FROM {leases} l
	WHERE l.lane = o.lane AND l.token = o.token AND l.relay = o.relay AND l.relay IN (SELECT value FROM json_each(?1))))`

// stuckFrom is what has been Publishing for longer than ?2. Both halves walk an
// index that has no published row.
const stuckFrom = `
FROM (
	SELECT * FROM {outbox} WHERE open AND state = 'publishing'
	UNION ALL SELECT * FROM {outbox} WHERE (state = 'failed' OR for_human) AND state = 'publishing'
) o WHERE o.publishing_since < {now} - ?2`

// Stuck implements [store.Outbox].
func (s *Store) Stuck(ctx context.Context, age time.Duration, alive []string, limit int) (rows []store.Row, total int, err error) {
	living := jsonOf(append([]string{}, alive...))
	err = s.read(ctx, "looking for stuck rows", func(tx on) (err error) {
		rows, err = collect(ctx, tx, "looking for stuck rows", scanRow,
			s.sql(`SELECT `+rowColumns+`, NULL`+stuckFrom+` AND `+overSQL+` ORDER BY o.publishing_since, o.seq LIMIT ?3`),
			living, age.Microseconds(), limit)
		if err != nil {
			return err
		}
		total, err = one(ctx, tx, "a count", scanInt, s.sql(`SELECT count(*)`+stuckFrom), living, age.Microseconds())
		return err
	})
	return rows, total, err
}

// Fail implements [store.Outbox].
func (s *Store) Fail(ctx context.Context, id string, token int64, class store.Class, text string, timeout time.Duration) (bool, error) {
	const statement = `
UPDATE {outbox} SET state = 'failed', for_human = 0, class = ?, error = ?, error_at = {now}
WHERE id = ? AND token = ? AND state = 'publishing'`
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var n int
	err := s.write(limited, "failing a row", func(tx on) (err error) {
		n, err = count(limited, tx, "failing a row", s.sql(statement), class, asText(text), id, token)
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return false, fmt.Errorf("%w: failing row %s: not within %v", store.ErrBusy, id, timeout)
	}
	return n > 0 && err == nil, err
}
