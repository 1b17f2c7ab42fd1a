package storetest

import (
	"github.com/holdfast-mq/holdfast/store"
)

// relay is a relay on the stage, with what it believes to hold.
type relay struct {
	*scene
	s    Store
	id   string
	held map[int]store.Lease
}

// relay brings on a relay that works through s and has beaten once.
func (sc *scene) relay(s Store) *relay {
	sc.Helper()
	r := &relay{scene: sc, s: s, id: newID(), held: map[int]store.Lease{}}
	r.beat()
	return r
}

// holder is a relay that holds the lanes.
func (sc *scene) holder(lanes ...int) *relay {
	sc.Helper()
	r := sc.relay(sc.s)
	r.take(lanes...)
	return r
}

func (r *relay) beat() store.Standing {
	r.Helper()
	standing, err := r.s.Beat(r.ctx(), store.Relay{ID: r.id, Name: "relay of the suite", Settings: "of the suite"})
	r.must(err)
	return standing
}

// seen returns the leases of some lanes as they are.
func (sc *scene) seen(lanes ...int) []store.Lease {
	sc.Helper()
	status, err := sc.s.Status(sc.ctx())
	sc.must(err)
	leases := make([]store.Lease, len(lanes))
	for i, lane := range lanes {
		leases[i] = leaseOf(sc, status.Standing, lane)
	}
	return leases
}

func leaseOf(sc *scene, standing store.Standing, lane int) store.Lease {
	sc.Helper()
	for _, l := range standing.Leases {
		if l.Lane == lane {
			return l
		}
	}
	sc.Fatalf("there is no lease of lane %d", lane)
	panic("unreachable")
}

// take takes the lanes from whoever has them.
func (r *relay) take(lanes ...int) {
	r.Helper()
	taken, err := r.s.Take(r.ctx(), r.id, r.seen(lanes...))
	r.must(err)
	equal(r.scene, "leases taken", len(taken), len(lanes))
	for _, l := range taken {
		r.held[l.Lane] = l
	}
}

// of is a claim of a lane under the lease that the relay believes to hold.
func (r *relay) of(lane int) store.Claim {
	return store.Claim{Lane: lane, Relay: r.id, Token: r.held[lane].Token, Limit: 100}
}

// claim claims what it can of a lane and returns the rows.
func (r *relay) claim(lane int) []store.Row {
	r.Helper()
	return r.claimAs(r.of(lane))
}

func (r *relay) claimAs(c store.Claim) []store.Row {
	r.Helper()
	rows, err := r.s.Claim(r.ctx(), c)
	r.must(err)
	return rows
}

// record records outcomes under the lease that the relay believes to hold.
func (r *relay) record(lane int, outcomes ...store.Outcome) []string {
	r.Helper()
	written, err := r.s.Record(r.ctx(), r.of(lane), outcomes)
	r.must(err)
	return written
}

// publish claims a lane and records all of it as published.
func (r *relay) publish(lane int) []store.Row {
	r.Helper()
	rows := r.claim(lane)
	outcomes := make([]store.Outcome, len(rows))
	for i, row := range rows {
		outcomes[i] = store.Outcome{ID: row.ID, State: store.Published, Confirmed: 1}
	}
	equal(r.scene, "rows recorded", len(r.record(lane, outcomes...)), len(rows))
	return rows
}

// failed brings rows of a lane to failed.
func (r *relay) failed(lane int, class store.Class) {
	r.Helper()
	for _, row := range r.claim(lane) {
		r.record(lane, store.Outcome{ID: row.ID, State: store.Failed, Class: class, Error: "said the broker", Refused: true})
	}
}

// left records a row as unknown and left for a human.
func (r *relay) left(row store.Row) {
	r.Helper()
	o := store.Outcome{ID: row.ID, State: store.Publishing, Unknown: true, Class: store.ClassUnknown, Error: "no answer"}
	same(r.scene, "recorded", r.record(row.Lane, o), []string{row.ID})
}
