package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/store"
)

const recordSQL = `
WITH lease AS MATERIALIZED (
	SELECT FROM {Leases} WHERE lane = $1 AND relay = $2 AND token = $3 FOR SHARE
)
UPDATE {Outbox} o SET state = x.state, for_human = x.state = 'publishing', confirmed = x.confirmed,
	refusals = o.refusals + x.refused::int, unknowns = o.unknowns + x.unknown::int,
	class = x.class, error = x.error, error_at = CASE WHEN x.class <> '' OR x.error <> '' THEN clock_timestamp() END,
	published_at = CASE WHEN x.state = 'published' THEN clock_timestamp() END,
	retry_at = CASE WHEN x.state = 'pending' AND x.wait > 0 THEN clock_timestamp() + x.wait * interval '1 microsecond' END
FROM unnest($4::text[], $5::text[], $6::int[], $7::bool[], $8::bool[], $9::text[], $10::text[], $11::bigint[])
	AS x (id, state, confirmed, refused, unknown, class, error, wait)
WHERE o.id = x.id::uuid AND o.lane = $1 AND o.token = $3 AND o.state = 'publishing' AND EXISTS (SELECT FROM lease)
RETURNING o.id::text`

// Record implements [store.Outbox]. Where somebody has locked one of the rows
// for more than five seconds, nothing is written and the error is
// [store.ErrBusy].
func (s *Store) Record(ctx context.Context, c store.Claim, outcomes []store.Outcome) ([]string, error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	x := transpose(outcomes)
	var written []string
	err := s.brief(ctx, "recording outcomes", grantClaim, func(b *pgx.Batch) {
		b.Queue(straight)
		b.Queue(s.sql(recordSQL), c.Lane, c.Relay, c.Token,
			x.ids, x.states, x.confirmed, x.refused, x.unknown, x.classes, x.errors, x.waits).
			Query(func(rows pgx.Rows) (err error) {
				written, err = pgx.CollectRows(rows, pgx.RowTo[string])
				return err
			})
	})
	return written, err
}

// outcomeColumns are outcomes as one array for each column.
type outcomeColumns struct {
	ids, states, classes, errors []string
	confirmed                    []int32
	refused, unknown             []bool
	waits                        []int64
}

func transpose(outcomes []store.Outcome) (x outcomeColumns) {
	for _, o := range outcomes {
		if !store.IsID(o.ID) {
			continue // no row's, and it would fail those of all others
		}
		x.ids, x.states = append(x.ids, o.ID), append(x.states, string(o.State))
		x.classes, x.errors = append(x.classes, string(o.Class)), append(x.errors, asText(o.Error))
		x.confirmed = append(x.confirmed, int32(o.Confirmed))
		x.refused, x.unknown = append(x.refused, o.Refused), append(x.unknown, o.Unknown)
		x.waits = append(x.waits, o.Wait.Microseconds())
	}
	return x
}
