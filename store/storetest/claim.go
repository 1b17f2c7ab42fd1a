package storetest

import (
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var claimCases = []testCase{
	{name: "returns_the_rows_of_its_lane_in_order", run: claimInOrder},
	{name: "moves_them_to_publishing", run: claimMoves},
	{name: "takes_no_more_than_the_limit", run: claimLimit},
	{name: "takes_nothing_twice", run: claimTwice},
	{name: "leaves_skipped_destinations_alone", run: claimSkip},
	{name: "waits_for_not_before", run: claimNotBefore},
	{name: "takes_neither_published_nor_failed_rows", run: claimEnded},
	{name: "takes_nothing_without_the_lease", run: claimWithoutLease},
	{name: "does_not_see_what_is_not_committed", run: claimUncommitted},
}

func claimInOrder(sc *scene) {
	var byLane [3][]string
	for range 20 {
		for lane := range byLane {
			byLane[lane] = append(byLane[lane], sc.add(keyed(lane, "k"))...)
		}
	}
	r := sc.holder(0, 1, 2)
	for lane, ids := range byLane {
		rows := r.claim(lane)
		same(sc, "claimed", rowIDs(rows), ids)
		for i := 1; i < len(rows); i++ {
			if rows[i].Seq <= rows[i-1].Seq {
				sc.Fatalf("seq %d after %d", rows[i].Seq, rows[i-1].Seq)
			}
		}
	}
}

func claimMoves(sc *scene) {
	id := sc.add(newEntry(4))[0]
	r := sc.holder(4)
	for what, row := range map[string]store.Row{"claimed": r.claim(4)[0], "stored": sc.row(id)} {
		sc.Log(what)
		equal(sc, "state", row.State, store.Publishing)
		equal(sc, "relay", row.Relay, r.id)
		equal(sc, "token", row.Token, r.held[4].Token)
		equal(sc, "unknowns", row.Unknowns, 0)
		if row.PublishingSince.Before(row.CreatedAt) {
			sc.Fatalf("publishing since %v, created at %v", row.PublishingSince, row.CreatedAt)
		}
	}
}

func claimLimit(sc *scene) {
	ids := sc.add(entries(5, 4)...)
	r := sc.holder(4)
	c := r.of(4)
	c.Limit = 2
	same(sc, "the first", rowIDs(r.claimAs(c)), ids[:2])
	same(sc, "the next", rowIDs(r.claimAs(c)), ids[2:4])
	same(sc, "the last", rowIDs(r.claimAs(c)), ids[4:])
	same(sc, "no more", rowIDs(r.claimAs(c)), nil)
}

func claimTwice(sc *scene) {
	sc.add(entries(5, 4)...)
	r := sc.holder(4)
	equal(sc, "claimed", len(r.claim(4)), 5)
	equal(sc, "claimed again under the same lease", len(r.claim(4)), 0)
}

func claimSkip(sc *scene) {
	ids := sc.add(to(4, "a"), to(4, "b"), to(4, "c"), to(4, "a"))
	r := sc.holder(4)
	c := r.of(4)
	c.Skip = []string{"a", "c"}
	same(sc, "claimed", rowIDs(r.claimAs(c)), ids[1:2])
	same(sc, "the others, later", rowIDs(r.claim(4)), []string{ids[0], ids[2], ids[3]})
}

func claimNotBefore(sc *scene) {
	past, soon, far := newEntry(4), newEntry(4), newEntry(4)
	past.NotBefore = time.Now().Add(-time.Hour)
	soon.NotBefore = time.Now().Add(2 * time.Second)
	far.NotBefore = time.Now().Add(time.Hour)
	sc.add(far, soon, past)
	r := sc.holder(4)
	var got []string
	sc.eventually("both that may be published are claimed", func() bool {
		for _, row := range r.claim(4) {
			if row.NotBefore.After(row.PublishingSince) {
				sc.Fatalf("claimed at %v, which is before %v", row.PublishingSince, row.NotBefore)
			}
			got = append(got, row.ID)
		}
		return len(got) >= 2
	})
	equal(sc, "state of the one of the future", sc.row(far.ID).State, store.Pending)
}

func claimEnded(sc *scene) {
	r := sc.holder(4)
	sc.add(newEntry(4))
	r.publish(4)
	sc.add(newEntry(4))
	r.failed(4, store.ClassMissing)
	equal(sc, "claimed", len(r.claim(4)), 0)
	next := sc.relay(sc.open())
	next.take(4)
	equal(sc, "claimed under the next lease", len(next.claim(4)), 0)
}

func claimWithoutLease(sc *scene) {
	id := sc.add(newEntry(4))[0]
	r := sc.relay(sc.s)
	equal(sc, "claimed", len(r.claim(4)), 0)
	other := sc.holder(4)
	stolen := other.of(4)
	stolen.Relay = r.id
	equal(sc, "claimed with another's token", len(r.claimAs(stolen)), 0)
	equal(sc, "state", sc.row(id).State, store.Pending)
}

func claimUncommitted(sc *scene) {
	r := sc.holder(4)
	first, second := newEntry(4), newEntry(4)
	tx := sc.begin()
	sc.must(tx.AddOutbox(sc.ctx(), []store.Entry{first}))
	lanes, err := sc.s.Due(sc.ctx(), []store.Claim{r.of(4)})
	sc.must(err)
	equal(sc, "lanes that are due", len(lanes), 0)
	sc.must(tx.Commit(sc.ctx()))
	sc.add(second)
	same(sc, "claimed", rowIDs(r.claim(4)), []string{first.ID, second.ID})
}
