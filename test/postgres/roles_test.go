package postgres

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/store/postgres"
)

// is ends the test unless err has that class and its text has each part.
func is(t *testing.T, err, class error, parts ...string) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Fatalf("the error is %v, not of the class %q", err, class)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "its-secret") {
		t.Errorf("the error has the password: %v", err)
	}
}

// addAs adds an entry as another role, in both kinds of transaction.
func (p *place) addAs(t *testing.T, as string) map[string]error {
	t.Helper()
	conn, err := pgx.Connect(within(t), as)
	must(t, err)
	defer conn.Close(context.Background())
	tx, err := conn.Begin(within(t))
	must(t, err)
	db, err := sql.Open("pgx", as)
	must(t, err)
	defer db.Close()
	sqlTx, err := db.BeginTx(within(t), nil)
	must(t, err)
	defer sqlTx.Rollback() //nolint:errcheck // committed, unless the test failed
	results := map[string]error{
		"pgx.Tx": p.layout.Tx(tx).AddOutbox(within(t), []store.Entry{newEntry(1)}),
		"sql.Tx": p.layout.SQLTx(sqlTx).AddOutbox(within(t), []store.Entry{newEntry(1)}),
	}
	if results["pgx.Tx"] == nil {
		must(t, tx.Commit(within(t)))
		must(t, sqlTx.Commit())
	}
	return results
}

func TestAProducerNeedsInsertAlone(t *testing.T) {
	p, s := migrated(t)
	_, as := p.role(t, "INSERT ON "+p.table("outbox"))
	_, err := s.Beat(within(t), store.Relay{ID: "r", Idle: true}) // so that it notifies, too
	must(t, err)
	for kind, err := range p.addAs(t, as) {
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	rows, err := s.List(within(t), store.Filter{})
	must(t, err)
	if len(rows) != 2 {
		t.Errorf("%d rows, want 2", len(rows))
	}
}

func TestARoleWithoutGrantsIsToldWhatToGrant(t *testing.T) {
	p, _ := migrated(t)
	name, as := p.role(t)
	for kind, err := range p.addAs(t, as) {
		t.Log(kind)
		is(t, err, store.ErrRefused, "GRANT INSERT ON "+p.table("outbox"))
	}
	s := p.openAt(t, as)
	_, err := s.Claim(within(t), store.Claim{Limit: 1})
	is(t, err, store.ErrRefused, "GRANT SELECT, UPDATE ON "+p.table("outbox"))
	p.exec(t, "GRANT SELECT ON "+p.table("migrations")+", "+p.table("outbox")+" TO "+name)
	is(t, s.Check(within(t)), store.ErrRefused, "UPDATE ON "+p.table("outbox"), "DELETE ON "+p.table("relays"), "TO "+name)
}

func TestARelaysGrantsAreEnough(t *testing.T) {
	p, _ := migrated(t)
	_, as := p.role(t, "SELECT ON "+p.table("migrations"), "SELECT, UPDATE ON "+p.table("outbox"),
		"SELECT, UPDATE ON "+p.table("leases"), "SELECT, INSERT, UPDATE, DELETE ON "+p.table("relays"))
	s := p.openAt(t, as)
	must(t, s.Check(within(t)))
	e := newEntry(3)
	p.add(t, e)
	claim := holder(t, s, 3)[0]
	due, err := s.Due(within(t), []store.Claim{claim})
	must(t, err)
	rows, err := s.Claim(within(t), claim)
	must(t, err)
	written, err := s.Record(within(t), claim, []store.Outcome{{ID: e.ID, State: store.Published, Confirmed: 1}})
	must(t, err)
	if len(due) != 1 || len(rows) != 1 || len(written) != 1 {
		t.Errorf("due %v, claimed %d, written %v", due, len(rows), written)
	}
	_, _, err = s.Stuck(within(t), 0, nil, 10)
	must(t, err)
	_, err = s.Status(within(t))
	must(t, err)
	must(t, s.Yield(within(t), claim.Relay, []store.Lease{{Lane: 3, Relay: claim.Relay, Token: claim.Token}}, true))
	_, err = s.Prune(within(t), time.Hour, 1, nil)
	is(t, err, store.ErrRefused, "DELETE ON "+p.table("outbox"))
}

func TestWhoOnlyReadsIsToldSo(t *testing.T) {
	p, _ := migrated(t)
	name, as := p.role(t, "ALL ON ALL TABLES IN SCHEMA "+p.layout.Schema)
	p.exec(t, "ALTER ROLE "+name+" SET default_transaction_read_only = on")
	for kind, err := range p.addAs(t, as) {
		t.Log(kind)
		is(t, err, store.ErrFull, "primary")
	}
	s := p.openAt(t, as)
	is(t, s.Check(within(t)), store.ErrFull, "primary")
	_, err := s.Beat(within(t), store.Relay{ID: "r"})
	is(t, err, store.ErrFull, "primary")
}

func TestOpenSaysWhyAndNoPassword(t *testing.T) {
	p := newPlace(t)
	for what, c := range map[string]struct {
		url   string
		class error
	}{
		"a wrong password":    {strings.Replace(p.server.URL, ":holdfast@", ":its-secret@", 1), store.ErrRefused},
		"no such database":    {strings.Replace(p.server.URL, "/postgres", "/nowhere_its", 1), store.ErrRefused},
		"nobody listens":      {"postgres://u:its-secret@127.0.0.1:1/postgres", store.ErrUnreachable},
		"a name without host": {"postgres://u:its-secret@host.invalid/postgres?connect_timeout=20", store.ErrUnreachable},
		"no URL":              {"postgres://u:its-secret@[/x", store.ErrConfig},
		"a bad setting":       {"postgres://u:its-secret@127.0.0.1:1/postgres?pool_max_conns=many", store.ErrConfig},
		"nothing":             {"", store.ErrConfig},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := postgres.Open(within(t), postgres.Config{URL: c.url})
			is(t, err, c.class)
		})
	}
}
