package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/store"
)

// TestAnOpenTransaction proves that one that was forgotten holds back its own
// rows and nobody else's, and that Status names it.
func TestAnOpenTransactionHoldsBackItsOwnRowsAlone(t *testing.T) {
	p, s := migrated(t)
	claim := holder(t, s, 1)[0]
	held, free := newEntry(1), newEntry(1)
	tx := p.begin(t)
	must(t, p.layout.Tx(tx).AddOutbox(within(t), []store.Entry{held}))
	_, err := tx.Exec(within(t), `SELECT 'a secret of its query', 42`)
	must(t, err)
	p.add(t, free)

	rows, err := s.Claim(within(t), claim)
	must(t, err)
	if len(rows) != 1 || rows[0].ID != free.ID {
		t.Fatalf("claimed %v, want the row that was committed", rows)
	}
	var pid int
	must(t, tx.QueryRow(within(t), `SELECT pg_backend_pid()`).Scan(&pid))
	var blockers []store.Blocker
	testenv.Eventually(t, patience, "the open transaction is a blocker", func() bool {
		status, err := s.Status(within(t))
		must(t, err)
		blockers = status.Blockers
		return len(blockers) > 0
	})
	b := blockers[0]
	if len(blockers) != 1 || b.PID != pid || b.State != "idle in transaction" || b.User != "holdfast" || b.Age <= 0 {
		t.Errorf("blockers %+v, want the process %d", blockers, pid)
	}
	if strings.Contains(b.Query, "secret") || !strings.HasPrefix(b.Query, "SELECT") {
		t.Errorf("its query is shown as %q", b.Query)
	}

	must(t, tx.Commit(within(t)))
	rows, err = s.Claim(within(t), claim)
	must(t, err)
	if len(rows) != 1 || rows[0].ID != held.ID {
		t.Fatalf("claimed %v, want the row that was held back", rows)
	}
	status, err := s.Status(within(t))
	must(t, err)
	if len(status.Blockers) > 0 {
		t.Errorf("blockers after the commit: %+v", status.Blockers)
	}
}

// TestALockedTable proves that nobody's lock hangs a relay.
func TestALockedTableIsBusyAndHangsNobody(t *testing.T) {
	p, s := migrated(t)
	claim := holder(t, s, 1)[0]
	for range 4 { // on each connection, so that the statement is prepared
		_, err := s.Claim(within(t), claim)
		must(t, err)
	}
	tx := p.begin(t)
	_, err := tx.Exec(within(t), `LOCK TABLE `+p.table("outbox"))
	must(t, err)
	_, err = s.Claim(within(t), claim)
	is(t, err, store.ErrBusy, "lock")
	must(t, tx.Rollback(context.Background()))
	_, err = s.Claim(within(t), claim)
	must(t, err)
}

// TestRedrive proves that a message that comes back faster than its row is
// removed, and is set aside again, is not lost with that row.
func TestWhatIsSetAsideAgainWhileItIsGivenBackIsKept(t *testing.T) {
	p, s := migrated(t)
	put := func(id string) error {
		tx := p.begin(t)
		err := p.layout.Tx(tx).PutAside(within(t), store.Aside{ID: id, Consumer: "billing", Reason: "gap", MessageID: "m-1", Payload: []byte("x")})
		if err != nil {
			return err
		}
		return tx.Commit(within(t))
	}
	first, second := newID(), newID()
	must(t, put(first))
	again := make(chan error, 1)
	ok, err := s.Redrive(within(t), first, func(store.Aside) error {
		go func() { again <- put(second) }()
		testenv.Eventually(t, patience, "the second waits for the row", func() bool {
			var waiting bool
			must(t, p.pool.QueryRow(within(t), `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
				WHERE NOT l.granted AND a.query LIKE '%`+p.table("set_aside")+`%')`).Scan(&waiting))
			return waiting
		})
		return nil
	})
	must(t, err)
	must(t, <-again)
	asides, err := s.Asides(within(t), store.AsideFilter{})
	must(t, err)
	if !ok || len(asides) != 1 || asides[0].ID != second {
		t.Fatalf("redriven %v; what is set aside: %+v, want the second row", ok, asides)
	}
}
