package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/store"
)

const grantClaim = "SELECT, UPDATE ON {Outbox}; GRANT SELECT, UPDATE ON {Leases}"

// claimable is what may be claimed of what is open, by who holds the token: what
// is due, and what an earlier lease claimed and never recorded, unless its
// destination is one to be left. The keys that wait are looked up by hash: a
// search for the head of each key would be quadratic with a hot one.
//
// A key that has a waiting row waits as a whole, its earlier rows too, which
// costs them a delay and no order.
const claimable = `o.open AND o.destination <> ALL({skip}::text[])
	AND (o.state = 'pending' AND (o.retry_at IS NULL OR o.retry_at <= statement_timestamp())
		OR o.state = 'publishing' AND o.token <> {token} AND (o.destination = ANY({leave}::text[])) = {leave all})
	AND (o.ordering_key = '' OR (o.lane, o.destination, o.ordering_key) NOT IN (SELECT * FROM waiting))`

// waiting must not ask for what is open: the planner would take that for a reason
// to walk the whole backlog of a lane. Only pending rows have a retry_at, and
// one moment for the whole statement lets it use the index.
const waiting = `waiting AS MATERIALIZED (
	SELECT lane, destination, ordering_key FROM {Outbox}
	WHERE lane = ANY({lanes}::smallint[]) AND retry_at > statement_timestamp() AND ordering_key <> ''
)`

// promoteSQL moves what has waited for its time to where a claim looks.
const promoteSQL = `
UPDATE {Outbox} SET scheduled = false WHERE seq = ANY(ARRAY(
	SELECT seq FROM {Outbox} WHERE lane = $1 AND scheduled AND not_before <= statement_timestamp()
	ORDER BY not_before LIMIT 10000 FOR UPDATE SKIP LOCKED))`

// claimSQL takes a lane's next rows. What somebody has locked is found as what
// is not among the taken before the last of them; nothing of its key is claimed
// past it. The lock on the lease lets nobody take the lane before the end.
var claimSQL = strings.NewReplacer("{lanes}", "ARRAY[$1]", "{token}", "$3", "{skip}", "$5", "{leave}", "$6", "{leave all}", "$7").Replace(`
WITH lease AS MATERIALIZED (
	SELECT FROM {Leases} WHERE lane = $1 AND relay = $2 AND token = $3 FOR SHARE
), ` + waiting + `, taken AS MATERIALIZED (
	SELECT o.seq FROM {Outbox} o WHERE o.lane = $1 AND EXISTS (SELECT FROM lease) AND ` + claimable + `
	ORDER BY o.seq LIMIT $4 FOR UPDATE SKIP LOCKED
), locked AS MATERIALIZED (
	SELECT o.destination, o.ordering_key, min(o.seq) AS seq FROM {Outbox} o
	WHERE o.lane = $1 AND o.seq < (SELECT max(seq) FROM taken) AND o.seq NOT IN (SELECT seq FROM taken)
		AND o.ordering_key <> '' AND ` + claimable + `
	GROUP BY o.destination, o.ordering_key
)
UPDATE {Outbox} o SET state = 'publishing', relay = $2, token = $3, publishing_since = clock_timestamp(), retry_at = NULL,
	unknowns = o.unknowns + (o.state = 'publishing')::int
FROM taken WHERE o.seq = taken.seq AND NOT EXISTS (
	SELECT FROM locked l WHERE l.destination = o.destination AND l.ordering_key = o.ordering_key AND l.seq < o.seq)
RETURNING ` + rowColumns)

// Claim implements [store.Outbox].
func (s *Store) Claim(ctx context.Context, c store.Claim) ([]store.Row, error) {
	var claimed []store.Row
	err := s.brief(ctx, "claiming", grantClaim, func(b *pgx.Batch) {
		b.Queue(straight)
		b.Queue(s.sql(promoteSQL), c.Lane)
		b.Queue(s.sql(claimSQL), c.Lane, c.Relay, c.Token, max(c.Limit, 0), list(c.Skip), list(c.Leave), c.LeaveAll).
			Query(collect(&claimed))
	})
	slices.SortFunc(claimed, func(a, b store.Row) int { return int(a.Seq - b.Seq) })
	return claimed, err
}

// list is never nil: ALL of null is null.
func list(texts []string) []string {
	return append([]string{}, texts...)
}

var dueSQL = strings.NewReplacer("{lanes}", "$1", "{token}", "c.token", "{skip}", "$3", "{leave}", "$4", "{leave all}", "$5").Replace(`
WITH ` + waiting + `
SELECT c.lane FROM unnest($1::smallint[], $2::bigint[]) AS c (lane, token)
WHERE EXISTS (SELECT FROM {Outbox} o WHERE o.lane = c.lane AND ` + claimable + ` ORDER BY o.seq LIMIT 1)
	OR EXISTS (SELECT FROM {Outbox} o WHERE o.lane = c.lane AND o.scheduled AND o.not_before <= statement_timestamp()
		AND o.destination <> ALL($3::text[]) ORDER BY o.not_before LIMIT 1)`)

// Due implements [store.Outbox].
func (s *Store) Due(ctx context.Context, c []store.Claim) ([]int, error) {
	if len(c) == 0 {
		return nil, nil
	}
	var due []int
	err := s.brief(ctx, "looking for work", grantClaim, func(b *pgx.Batch) {
		b.Queue(straight)
		for _, same := range alike(c) {
			var lanes []int16
			var tokens []int64
			for _, one := range same {
				lanes, tokens = append(lanes, int16(one.Lane)), append(tokens, one.Token)
			}
			b.Queue(s.sql(dueSQL), lanes, tokens, list(same[0].Skip), list(same[0].Leave), same[0].LeaveAll).
				Query(func(rows pgx.Rows) error {
					found, err := pgx.CollectRows(rows, pgx.RowTo[int])
					due = append(due, found...)
					return err
				})
		}
	})
	return due, err
}

// alike groups claims that differ in nothing but the lane: with a relay, all.
func alike(claims []store.Claim) [][]store.Claim {
	var groups [][]store.Claim
next:
	for _, c := range claims {
		for i, g := range groups {
			if slices.Equal(g[0].Skip, c.Skip) && slices.Equal(g[0].Leave, c.Leave) && g[0].LeaveAll == c.LeaveAll {
				groups[i] = append(g, c)
				continue next
			}
		}
		groups = append(groups, []store.Claim{c})
	}
	return groups
}
