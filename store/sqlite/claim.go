package sqlite

import (
	"cmp"
	"context"
	"slices"

	"github.com/holdfast-mq/holdfast/store"
)

// Who may be claimed. ?1 is the lane, ?2 the token, ?3 the skipped
// destinations, ?4 says whether all destinations but those of ?5 are left for a
// human, or just those, and ?6 is the limit.
//
// A key is held back by its first row that waits. The keys that are held are
// few and found by their index; a row's own key is looked up among them, and
// never the other way round, which would be quadratic with a hot key.
const candidatesSQL = `
WITH held (destination, ordering_key, seq) AS MATERIALIZED (
	SELECT destination, ordering_key, min(seq) FROM {outbox}
	WHERE lane = ?1 AND retry_at > {now} AND state = 'pending' AND ordering_key <> '' GROUP BY 1, 2
)
SELECT o.seq FROM {outbox} o LEFT JOIN held h ON h.destination = o.destination AND h.ordering_key = o.ordering_key AND h.seq < o.seq
WHERE o.open AND o.lane = ?1 AND h.seq IS NULL
	AND o.destination NOT IN (SELECT value FROM json_each(?3))
	AND CASE o.state WHEN 'pending' THEN coalesce(o.retry_at <= {now}, 1)
		ELSE o.token <> ?2 AND (o.destination IN (SELECT value FROM json_each(?5))) = ?4 END
ORDER BY o.seq LIMIT ?6`

func candidateArgs(c store.Claim) []any {
	return []any{c.Lane, c.Token, jsonOf(append([]string{}, c.Skip...)), c.LeaveAll, jsonOf(append([]string{}, c.Leave...)), c.Limit}
}

const (
	leaseSQL = `SELECT count(*) FROM {leases} WHERE lane = ? AND relay = ? AND token = ?`

	promoteSQL = `UPDATE {outbox} SET scheduled = 0 WHERE scheduled AND lane = ? AND not_before <= {now}`

	claimSQL = `
UPDATE {outbox} SET unknowns = unknowns + (state = 'publishing'), state = 'publishing', publishing_since = {now}, relay = ?2, token = ?3, retry_at = NULL
WHERE seq IN (SELECT value FROM json_each(?1)) RETURNING ` + rowColumns + `, payload`
)

// Claim implements [store.Outbox].
func (s *Store) Claim(ctx context.Context, c store.Claim) (rows []store.Row, err error) {
	err = s.write(ctx, "claiming", func(tx on) error {
		held, err := one(ctx, tx, "a lease", scanInt, s.sql(leaseSQL), c.Lane, c.Relay, c.Token)
		if err != nil || held == 0 {
			return err
		}
		if _, err = count(ctx, tx, "claiming", s.sql(promoteSQL), c.Lane); err != nil {
			return err
		}
		seqs, err := collect(ctx, tx, "claiming", scanInt, s.sql(candidatesSQL), candidateArgs(c)...)
		if err != nil || len(seqs) == 0 {
			return err
		}
		rows, err = collect(ctx, tx, "claiming", scanRow, s.sql(claimSQL), jsonOf(seqs), c.Relay, c.Token)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b store.Row) int { return cmp.Compare(a.Seq, b.Seq) })
	return rows, nil
}

// recordSQL begins with the outcomes, each of which leads to its row.
const recordSQL = `
WITH x (id, state, confirmed, refused, unknown, class, error, wait) AS MATERIALIZED (
	SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7 FROM json_each(?4)
)
UPDATE {outbox} SET state = x.state, for_human = x.state = 'publishing', confirmed = x.confirmed,
	refusals = refusals + x.refused, unknowns = unknowns + x.unknown,
	class = x.class, error = x.error, error_at = CASE WHEN x.class <> '' OR x.error <> '' THEN {now} END,
	published_at = CASE x.state WHEN 'published' THEN {now} END,
	retry_at = CASE WHEN x.state = 'pending' AND x.wait > 0 THEN {now} + x.wait END
FROM x WHERE {outbox}.id = x.id AND lane = ?1 AND token = ?3 AND {outbox}.state = 'publishing'
	AND EXISTS (SELECT 1 FROM {leases} WHERE lane = ?1 AND relay = ?2 AND token = ?3)
RETURNING {outbox}.id`

// Record implements [store.Outbox].
func (s *Store) Record(ctx context.Context, c store.Claim, outcomes []store.Outcome) (written []string, err error) {
	if len(outcomes) == 0 {
		return nil, ctx.Err()
	}
	x := make([][]any, len(outcomes))
	for i, o := range outcomes {
		x[i] = []any{
			o.ID, o.State, o.Confirmed, number(o.Refused), number(o.Unknown), o.Class, asText(o.Error), o.Wait.Microseconds(),
		}
	}
	err = s.write(ctx, "recording outcomes", func(tx on) (err error) {
		written, err = collect(ctx, tx, "recording outcomes", scanText, s.sql(recordSQL), c.Lane, c.Relay, c.Token, jsonOf(x))
		return err
	})
	if err != nil {
		return nil, err
	}
	return written, nil
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
