package postgres

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/store/storetest"
)

func TestSuite(t *testing.T) {
	testenv.NeedPostgres(t)
	result := storetest.Run(t, storetest.Env{Name: "PostgreSQL", New: suitePlace, Slow: 2})
	testenv.Show(t, "HOLDFAST_STORES", storetest.Table(result))
}

func suitePlace(t *testing.T) storetest.Place {
	p := newPlace(t)
	return storetest.Place{
		Open: func(t *testing.T) (storetest.Store, func()) {
			s := p.open(t)
			return s, s.Close
		},
		Begin: map[string]func(*testing.T) storetest.Tx{
			"pgx.Tx":  p.suitePgx,
			"*sql.Tx": p.suiteSQL,
		},
		Backdate: p.backdate,
		Foreign:  p.foreign,
		Drift: func(t *testing.T) string {
			p.exec(t, `ALTER TABLE `+p.table("outbox")+` ALTER COLUMN content_type TYPE varchar(100)`)
			return "content_type"
		},
		Older: func(t *testing.T) {
			p.exec(t, `DROP TABLE `+p.table("set_aside"))
			p.exec(t, `DELETE FROM `+p.table("migrations")+` WHERE version_id = 3`)
		},
		LockRow: p.lockRow,
	}
}

func (p *place) suitePgx(t *testing.T) storetest.Tx {
	tx, err := p.pool.Begin(within(t))
	must(t, err)
	return storetest.Tx{Writes: p.layout.Tx(tx), Commit: tx.Commit, Rollback: tx.Rollback}
}

func (p *place) suiteSQL(t *testing.T) storetest.Tx {
	tx, err := p.db.BeginTx(context.Background(), nil)
	must(t, err)
	return storetest.Tx{
		Writes:   p.layout.SQLTx(tx),
		Commit:   func(context.Context) error { return tx.Commit() },
		Rollback: func(context.Context) error { return tx.Rollback() },
	}
}

func (p *place) backdate(t *testing.T, m storetest.Moment, id string, by time.Duration) {
	t.Helper()
	column := map[storetest.Moment][2]string{
		storetest.Created: {"outbox", "created_at"}, storetest.Claimed: {"outbox", "publishing_since"},
		storetest.Published: {"outbox", "published_at"}, storetest.Handled: {"inbox", "at"}, storetest.SetAside: {"set_aside", "at"},
	}[m]
	p.exec(t, fmt.Sprintf(`UPDATE %s SET %s = %[2]s - $1::bigint * interval '1 microsecond' WHERE id::text = $2`, p.table(column[0]), column[1]),
		by.Microseconds(), id)
}

// foreign tries each row in a transaction of its own, and counts those that the
// tables take.
func (p *place) foreign(t *testing.T, lane int) int {
	taken := 0
	for _, odd := range []struct {
		lane           int
		state, headers string
	}{{lane, "pending", `{"n": 1, "o": {"a": [null]}}`}, {lane, "gone", `{}`}, {99, "pending", `{}`}, {lane, "pending", `[1]`}} {
		_, err := p.pool.Exec(within(t), `INSERT INTO `+p.table("outbox")+` (id, lane, state, destination, keys, headers, payload)
			VALUES ($1::text::uuid, $2, $3, 'orders', '{k}', $4::text::jsonb, '')`, newID(), odd.lane, odd.state, odd.headers)
		if err == nil {
			taken++
		}
	}
	return taken
}

func (p *place) lockRow(t *testing.T, id string) func() {
	tx, err := p.pool.Begin(within(t))
	must(t, err)
	if _, err := tx.Exec(within(t), `SELECT FROM `+p.table("outbox")+` WHERE id = $1::text::uuid FOR UPDATE`, id); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	return func() { once.Do(func() { must(t, tx.Rollback(context.Background())) }) }
}
