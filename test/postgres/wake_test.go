package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/store"
)

// TestNotify proves that a loaded system notifies nothing: what is heard first
// is said by the test itself, after the first commit.
func TestNotifyOnlyWhenARelayIsIdle(t *testing.T) {
	p, s := migrated(t)
	channel := p.layout.Schema + "." + p.layout.Prefix
	conn, err := pgx.Connect(within(t), p.server.URL)
	must(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(within(t), `LISTEN "`+channel+`"`)
	must(t, err)
	beat := func(idle bool) {
		_, err := s.Beat(within(t), store.Relay{ID: "r", Name: "r", Idle: idle})
		must(t, err)
	}
	hears := func(want string) {
		t.Helper()
		n, err := conn.WaitForNotification(within(t))
		must(t, err)
		if n.Payload != want {
			t.Fatalf("heard %q, want %q", n.Payload, want)
		}
	}
	beat(false)
	p.add(t, newEntry(1))
	p.exec(t, `SELECT pg_notify($1, 'after the first commit')`, channel)
	hears("after the first commit")

	beat(true)
	tx := p.begin(t)
	must(t, p.layout.Tx(tx).AddOutbox(within(t), []store.Entry{newEntry(1)}))
	p.exec(t, `SELECT pg_notify($1, 'before the second commit')`, channel)
	hears("before the second commit")
	must(t, tx.Commit(within(t)))
	hears("")

	rolledBack := p.begin(t)
	must(t, p.layout.Tx(rolledBack).AddOutbox(within(t), []store.Entry{newEntry(1)}))
	must(t, rolledBack.Rollback(within(t)))
	p.exec(t, `SELECT pg_notify($1, 'after a rollback')`, channel)
	hears("after a rollback")
}
