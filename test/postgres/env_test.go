package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/postgres"
)

// patience is far above what anything here takes on a loaded machine.
const patience = 2 * time.Minute

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a schema of one test, in the server's database.
type place struct {
	server testenv.Postgres
	layout postgres.Layout
	pool   *pgxpool.Pool // somebody's, as the superuser
	db     *sql.DB       // the same over database/sql
}

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{server: testenv.NeedPostgres(t), layout: postgres.Layout{Schema: "t_" + random(), Prefix: "hf_"}}
	config, err := pgxpool.ParseConfig(p.server.URL)
	must(t, err)
	config.MaxConns = 10
	p.pool, err = pgxpool.NewWithConfig(within(t), config)
	must(t, err)
	p.db = stdlib.OpenDBFromPool(p.pool)
	t.Cleanup(func() {
		if _, err := p.pool.Exec(context.Background(), `DROP SCHEMA IF EXISTS `+p.layout.Schema+` CASCADE`); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
		p.db.Close()
		p.pool.Close()
	})
	return p
}

// migrated is a place with tables, and a store on it.
func migrated(t testing.TB) (*place, *postgres.Store) {
	t.Helper()
	p := newPlace(t)
	s := p.open(t)
	must(t, s.Migrate(within(t)))
	return p, s
}

func (p *place) open(t testing.TB) *postgres.Store {
	t.Helper()
	return p.openAt(t, p.server.URL)
}

func (p *place) openAt(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(within(t), postgres.Config{URL: small(t, url), Layout: p.layout})
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

// small is a URL of a pool that leaves connections for other tests.
func small(t testing.TB, through string) string {
	t.Helper()
	u, err := url.Parse(through)
	must(t, err)
	u.RawQuery = "pool_max_conns=4"
	return u.String()
}

// table is a table's whole name.
func (p *place) table(name string) string { return p.layout.Schema + "." + p.layout.Prefix + name }

// exec runs somebody's statement.
func (p *place) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := p.pool.Exec(within(t), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// begin begins somebody's transaction, rolled back at the end.
func (p *place) begin(t testing.TB) pgx.Tx {
	t.Helper()
	tx, err := p.pool.Begin(within(t))
	must(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // ended long ago, unless the test failed
	return tx
}

// add commits entries.
func (p *place) add(t testing.TB, entries ...store.Entry) {
	t.Helper()
	tx := p.begin(t)
	must(t, p.layout.Tx(tx).AddOutbox(within(t), entries))
	must(t, tx.Commit(within(t)))
}

// role makes a role with a password that may log in and nothing else, and
// returns its name and the URL to connect as it.
func (p *place) role(t testing.TB, grants ...string) (name, as string) {
	t.Helper()
	name = "r_" + random()
	p.exec(t, fmt.Sprintf(`CREATE ROLE %s LOGIN PASSWORD 'its-secret'`, name))
	t.Cleanup(func() {
		for _, statement := range []string{`DROP OWNED BY ` + name, `DROP ROLE ` + name} {
			if _, err := p.pool.Exec(context.Background(), statement); err != nil {
				t.Errorf("cleaning up: %v", err)
			}
		}
	})
	for _, grant := range append([]string{"USAGE ON SCHEMA " + p.layout.Schema}, grants...) {
		p.exec(t, "GRANT "+grant+" TO "+name)
	}
	u, err := url.Parse(p.server.URL)
	must(t, err)
	u.User = url.UserPassword(name, "its-secret")
	return name, u.String()
}

func random() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func newEntry(lane int) store.Entry {
	return store.Entry{
		ID: newID(), Lane: lane, Destination: "orders", Keys: []string{"order.placed.v1"},
		Headers: map[string]string{"a": "b"}, Payload: []byte(`{"n":1}`),
	}
}

// holder makes a relay that holds lanes, and returns its claims of them.
func holder(t testing.TB, s *postgres.Store, lanes ...int) []store.Claim {
	t.Helper()
	id := newID()
	standing, err := s.Beat(within(t), store.Relay{ID: id, Name: "relay of a test"})
	must(t, err)
	var wanted []store.Lease
	for _, lane := range lanes {
		wanted = append(wanted, standing.Leases[lane])
	}
	taken, err := s.Take(within(t), id, wanted)
	must(t, err)
	var claims []store.Claim
	for _, l := range taken {
		claims = append(claims, store.Claim{Lane: l.Lane, Relay: id, Token: l.Token, Limit: 100})
	}
	if len(claims) != len(lanes) {
		t.Fatalf("took %d of %d lanes", len(claims), len(lanes))
	}
	return claims
}
