package storetest

import (
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var orderCases = []testCase{
	{name: "a_wait_holds_its_key_and_nobody_else", run: waitHoldsKey},
	{name: "a_wait_without_a_key_holds_nobody", run: waitWithoutKey},
	{name: "after_the_wait_the_key_goes_on_in_order", run: waitEnds},
	{name: "a_long_queue_behind_a_wait_starves_nobody", run: waitStarvesNobody},
	{name: "a_row_of_the_future_holds_nobody", run: futureHoldsNobody},
	{name: "a_failed_row_holds_nobody", run: failedHoldsNobody},
	{name: "a_row_left_for_a_human_holds_nobody", run: leftHoldsNobody},
	{name: "a_locked_row_holds_its_key_and_nobody_else", rowLocks: true, run: lockHoldsKey},
	{name: "a_locked_row_is_claimed_when_it_is_free", rowLocks: true, run: lockEnds},
	{name: "a_claim_waits_for_who_writes", wholeLocks: true, run: claimWaits},
}

// wait records one claimed row as to be tried again after d.
func (r *relay) wait(row store.Row, d time.Duration) {
	r.Helper()
	o := store.Outcome{ID: row.ID, State: store.Pending, Class: store.ClassRefused, Error: "full", Refused: true, Wait: d}
	same(r.scene, "recorded", r.record(row.Lane, o), []string{row.ID})
}

func waitHoldsKey(sc *scene) {
	sc.add(keyed(4, "k"))
	r := sc.holder(4)
	r.wait(r.claim(4)[0], time.Hour)
	same1 := keyed(4, "k")
	otherKey := keyed(4, "other")
	noKey := newEntry(4)
	otherPlace := keyed(4, "k")
	otherPlace.Destination = "elsewhere"
	sc.add(same1, otherKey, noKey, otherPlace)
	same(sc, "claimed", rowIDs(r.claim(4)), []string{otherKey.ID, noKey.ID, otherPlace.ID})
	equal(sc, "state of the row of the same key", sc.row(same1.ID).State, store.Pending)
}

func waitWithoutKey(sc *scene) {
	sc.add(newEntry(4))
	r := sc.holder(4)
	r.wait(r.claim(4)[0], time.Hour)
	ids := sc.add(newEntry(4), keyed(4, "k"))
	same(sc, "claimed", rowIDs(r.claim(4)), ids)
}

func waitEnds(sc *scene) {
	ids := sc.add(keyed(4, "k"))
	r := sc.holder(4)
	ids = append(ids, sc.add(keyed(4, "k"), keyed(4, "k"))...)
	first := r.of(4)
	first.Limit = 1
	r.wait(r.claimAs(first)[0], time.Second)
	var got []string
	sc.eventually("the key goes on", func() bool {
		got = append(got, rowIDs(r.claim(4))...)
		return len(got) == len(ids)
	})
	same(sc, "claimed", got, ids)
}

func waitStarvesNobody(sc *scene) {
	sc.add(keyed(4, "k"))
	r := sc.holder(4)
	r.wait(r.claim(4)[0], time.Hour)
	held := entries(300, 4)
	for i := range held {
		held[i].OrderingKey = "k"
	}
	sc.add(held...)
	free := sc.add(keyed(4, "free"))
	c := r.of(4)
	c.Limit = 10
	same(sc, "claimed", rowIDs(r.claimAs(c)), free)
}

func futureHoldsNobody(sc *scene) {
	future := keyed(4, "k")
	future.NotBefore = time.Now().Add(time.Hour)
	ids := sc.add(future, keyed(4, "k"))
	same(sc, "claimed", rowIDs(sc.holder(4).claim(4)), ids[1:])
}

func failedHoldsNobody(sc *scene) {
	sc.add(keyed(4, "k"))
	r := sc.holder(4)
	r.failed(4, store.ClassUnrouted)
	ids := sc.add(keyed(4, "k"))
	same(sc, "claimed", rowIDs(r.claim(4)), ids)
}

func leftHoldsNobody(sc *scene) {
	sc.add(keyed(4, "k"))
	r := sc.holder(4)
	r.left(r.claim(4)[0])
	ids := sc.add(keyed(4, "k"))
	same(sc, "claimed", rowIDs(r.claim(4)), ids)
}

func lockHoldsKey(sc *scene) {
	locked, behind, free := keyed(4, "k"), keyed(4, "k"), keyed(4, "free")
	noKey := newEntry(4)
	sc.add(locked, behind, free, noKey)
	unlock := sc.place.LockRow(sc.T, locked.ID)
	defer unlock()
	r := sc.holder(4)
	same(sc, "claimed", rowIDs(r.claim(4)), []string{free.ID, noKey.ID})
	equal(sc, "state of the row behind", sc.row(behind.ID).State, store.Pending)
}

func lockEnds(sc *scene) {
	ids := sc.add(keyed(4, "k"), keyed(4, "k"))
	unlock := sc.place.LockRow(sc.T, ids[0])
	r := sc.holder(4)
	equal(sc, "claimed while it is locked", len(r.claim(4)), 0)
	unlock()
	same(sc, "claimed", rowIDs(r.claim(4)), ids)
}

func claimWaits(sc *scene) {
	ids := sc.add(keyed(4, "k"))
	r := sc.holder(4)
	tx := sc.begin()
	next := keyed(4, "k")
	sc.must(tx.AddOutbox(sc.ctx(), []store.Entry{next}))
	type claimed struct {
		rows []store.Row
		err  error
	}
	results, ctx := make(chan claimed, 1), sc.ctx()
	go func() {
		rows, err := r.s.Claim(ctx, r.of(4))
		results <- claimed{rows, err}
	}()
	notYet(sc, "the claim", results)
	sc.must(tx.Commit(sc.ctx()))
	got := within(sc, "the claim", results)
	sc.must(got.err)
	same(sc, "claimed", rowIDs(got.rows), append(ids, next.ID))
}
