package inbox

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "modernc.org/sqlite"             // the driver sqlite

	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/postgres"
	"github.com/holdfast-mq/holdfast/store/sqlite"
)

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// address is where the tables of one test are, for any process.
type address struct{ Kind, URL, Schema string }

// The kinds of a service's transaction.
const (
	onSQLite      = "sqlite"
	onPostgres    = "postgres"
	onPostgresSQL = "postgres over database/sql"
)

// stores is what the tests need of a store.
type stores interface {
	store.Outbox
	store.Inbox
	store.SetAsides
	Migrate(ctx context.Context) error
}

// transaction is one of a service, in which it has a table of its own.
type transaction struct {
	wrapped
	// apply is the effect: a row for each time that it came to be.
	apply func(ctx context.Context, id string) error
}

type wrapped interface {
	store.InboxTx
	store.SetAsideTx
}

// service is a process's handles on its database.
type service struct {
	stores
	// in commits what fn did when it returns nil, and else rolls back.
	in      func(ctx context.Context, fn func(tx transaction) error) error
	query   func(ctx context.Context) (ids []string, err error)
	closing []func()
}

func (s *service) close() {
	for i := len(s.closing) - 1; i >= 0; i-- {
		s.closing[i]()
	}
}

// effects counts how often each id was applied.
func (s *service) effects(t *testing.T) map[string]int {
	t.Helper()
	ids, err := s.query(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, id := range ids {
		times[id]++
	}
	return times
}

// each runs f on every kind of database and transaction.
func each(t *testing.T, f func(t *testing.T, at address, s *service)) {
	on(t, []string{onSQLite, onPostgres, onPostgresSQL}, f)
}

// on runs f on these kinds, each in a place of its own.
func on(t *testing.T, kinds []string, f func(t *testing.T, at address, s *service)) {
	for _, kind := range kinds {
		t.Run(strings.ReplaceAll(kind, " ", "_"), func(t *testing.T) {
			at := newPlace(t, kind)
			s, err := at.open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.close)
			f(t, at, s)
		})
	}
}

func newPlace(t *testing.T, kind string) address {
	t.Helper()
	at := address{Kind: kind}
	if kind == onSQLite {
		at.URL = filepath.Join(t.TempDir(), "service.db")
	} else {
		at.URL = testenv.NeedPostgres(t).URL
		at.Schema = "inbox_" + strings.ToLower(rand.Text()[:12])
		t.Cleanup(func() { at.drop(t) })
	}
	s, err := at.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := at.exec(t.Context(), "CREATE TABLE "+at.table()+" (id text)"); err != nil {
		t.Fatal(err)
	}
	return at
}

func (a address) drop(t *testing.T) {
	if err := a.exec(context.Background(), "DROP SCHEMA "+a.Schema+" CASCADE"); err != nil {
		t.Errorf("cleaning up: %v", err)
	}
}

func (a address) exec(ctx context.Context, statement string) error {
	db, err := a.database()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, statement)
	return err
}

func (a address) table() string {
	if a.Kind == onSQLite {
		return "effects"
	}
	return a.Schema + ".effects"
}

func (a address) database() (*sql.DB, error) {
	if a.Kind == onSQLite {
		return sql.Open("sqlite", "file:"+a.URL+"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(wal)")
	}
	return sql.Open("pgx", a.URL)
}

// open connects to the place as one process does.
func (a address) open(ctx context.Context) (s *service, err error) {
	s = &service{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if a.Kind == onSQLite {
		return s, s.openSQLite(ctx, a)
	}
	pool, err := pgxpool.New(ctx, a.URL)
	if err != nil {
		return nil, err
	}
	s.closing = append(s.closing, pool.Close)
	layout := postgres.Layout{Schema: a.Schema}
	st, err := postgres.Open(ctx, postgres.Config{Pool: pool, Layout: layout})
	if err != nil {
		return nil, err
	}
	s.stores, s.closing = st, append(s.closing, func() { st.Close() })
	if a.Kind == onPostgres {
		s.usePool(a, pool, layout)
		return s, nil
	}
	return s, s.useDatabase(a, "$1", func(tx *sql.Tx) wrapped { return layout.SQLTx(tx) })
}

func (s *service) openSQLite(ctx context.Context, a address) error {
	st, err := sqlite.Open(ctx, sqlite.Config{Path: a.URL})
	if err != nil {
		return err
	}
	s.stores, s.closing = st, append(s.closing, func() { st.Close() })
	return s.useDatabase(a, "?", func(tx *sql.Tx) wrapped { return st.Tx(tx) })
}

func (s *service) usePool(a address, pool *pgxpool.Pool, layout postgres.Layout) {
	s.in = func(ctx context.Context, fn func(transaction) error) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			return fn(transaction{layout.Tx(tx), func(ctx context.Context, id string) error {
				_, err := tx.Exec(ctx, "INSERT INTO "+a.table()+" VALUES ($1)", id)
				return err
			}})
		})
	}
	s.query = func(ctx context.Context) ([]string, error) {
		rows, err := pool.Query(ctx, "SELECT id FROM "+a.table())
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowTo[string])
	}
}

func (s *service) useDatabase(a address, parameter string, wrap func(*sql.Tx) wrapped) error {
	db, err := a.database()
	if err != nil {
		return err
	}
	s.closing = append(s.closing, func() { _ = db.Close() })
	s.in = func(ctx context.Context, fn func(transaction) error) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after a commit it changes nothing
		err = fn(transaction{wrap(tx), func(ctx context.Context, id string) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO "+a.table()+" VALUES ("+parameter+")", id)
			return err
		}})
		if err != nil {
			return err
		}
		return tx.Commit()
	}
	s.query = func(ctx context.Context) (ids []string, err error) {
		rows, err := db.QueryContext(ctx, "SELECT id FROM "+a.table())
		if err != nil {
			return nil, err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		return ids, rows.Err()
	}
	return nil
}

// same fails unless the effects are these, each once.
func (s *service) same(t *testing.T, ids ...string) {
	t.Helper()
	want := map[string]int{}
	for _, id := range ids {
		want[id] = 1
	}
	if got := s.effects(t); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("effects %v, want %v", got, want)
	}
}
