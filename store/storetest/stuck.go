package storetest

import (
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var stuckCases = []testCase{
	{name: "what_a_dead_relay_claimed_is_stuck", run: stuckOfTheDead},
	{name: "what_a_live_relay_works_on_is_not", run: stuckOfTheLiving},
	{name: "what_was_left_for_a_human_is", run: stuckLeft},
	{name: "the_age_counts_from_the_claim", run: stuckAge},
	{name: "the_oldest_come_first_and_the_total_is_true", run: stuckTotal},
	{name: "failing_one_row_says_why", run: failSays},
	{name: "failing_loses_a_race_without_an_error", run: failLoses},
	{name: "a_row_that_is_held_by_a_lock_is_cut_off", rowLocks: true, run: failCutOff},
	{name: "a_row_that_is_held_by_who_writes_is_cut_off", wholeLocks: true, run: failCutOffWhole},
}

func (sc *scene) stuck(age time.Duration, alive []string, limit int) ([]store.Row, int) {
	sc.Helper()
	rows, total, err := sc.s.Stuck(sc.ctx(), age, alive, limit)
	sc.must(err)
	return rows, total
}

func stuckOfTheDead(sc *scene) {
	ids := sc.crashed(5, "orders")
	sc.place.Backdate(sc.T, Claimed, ids[0], time.Hour)
	rows, total := sc.stuck(time.Minute, nil, 10)
	same(sc, "stuck while the lease is a dead one's", rowIDs(rows), ids)
	equal(sc, "total", total, 1)
	next := sc.holder(5)
	rows, _ = sc.stuck(time.Minute, []string{next.id}, 10)
	same(sc, "stuck under the next lease", rowIDs(rows), ids)
	equal(sc, "payload", string(rows[0].Destination), "orders")
}

func stuckOfTheLiving(sc *scene) {
	id := sc.add(newEntry(5))[0]
	r := sc.holder(5)
	r.claim(5)
	sc.place.Backdate(sc.T, Claimed, id, time.Hour)
	rows, total := sc.stuck(time.Minute, []string{newID(), r.id}, 10)
	equal(sc, "stuck", len(rows), 0)
	equal(sc, "total", total, 1)
}

func stuckLeft(sc *scene) {
	id := sc.add(newEntry(5))[0]
	r := sc.holder(5)
	r.left(r.claim(5)[0])
	sc.place.Backdate(sc.T, Claimed, id, time.Hour)
	rows, total := sc.stuck(time.Minute, []string{r.id}, 10)
	same(sc, "stuck, with its relay at work", rowIDs(rows), []string{id})
	equal(sc, "total", total, 1)
	ok, err := sc.s.Fail(sc.ctx(), id, r.held[5].Token, store.ClassUnknown, "nobody decided", sc.env.patience())
	sc.must(err)
	equal(sc, "failed", ok, true)
}

func stuckAge(sc *scene) {
	ids := sc.crashed(5, "a", "b")
	sc.place.Backdate(sc.T, Created, ids[0], 5*time.Hour)
	sc.place.Backdate(sc.T, Claimed, ids[1], 3*time.Hour)
	rows, total := sc.stuck(time.Hour, nil, 10)
	same(sc, "stuck", rowIDs(rows), ids[1:])
	equal(sc, "total", total, 1)
	_, total = sc.stuck(4*time.Hour, nil, 10)
	equal(sc, "total of a longer age", total, 0)
}

func stuckTotal(sc *scene) {
	ids := sc.crashed(5, "a", "b", "c", "d", "e")
	for i, id := range ids {
		sc.place.Backdate(sc.T, Claimed, id, time.Duration(i+1)*time.Hour)
	}
	alive := sc.holder(6)
	busy := sc.add(newEntry(6))[0]
	alive.claim(6)
	sc.place.Backdate(sc.T, Claimed, busy, 9*time.Hour)
	rows, total := sc.stuck(time.Minute, []string{alive.id}, 2)
	same(sc, "stuck", rowIDs(rows), []string{ids[4], ids[3]})
	equal(sc, "total", total, 6)
}

func failSays(sc *scene) {
	id := sc.crashed(5, "orders")[0]
	token := sc.row(id).Token
	ok, err := sc.s.Fail(sc.ctx(), id, token, store.ClassUnknown, "may or may not have been delivered", sc.env.patience())
	sc.must(err)
	equal(sc, "failed", ok, true)
	row := sc.row(id)
	equal(sc, "state", row.State, store.Failed)
	equal(sc, "class", row.Class, store.ClassUnknown)
	equal(sc, "error", row.Error, "may or may not have been delivered")
	if row.ErrorAt.IsZero() {
		sc.Error("the error has no time")
	}
	equal(sc, "claimed by the next", len(sc.holder(5).claim(5)), 0)
}

func failLoses(sc *scene) {
	id := sc.crashed(5, "orders")[0]
	token := sc.row(id).Token
	fail := func(id string, token int64) bool {
		ok, err := sc.s.Fail(sc.ctx(), id, token, store.ClassUnknown, "text", sc.env.patience())
		sc.must(err)
		return ok
	}
	equal(sc, "under another token", fail(id, token+1), false)
	equal(sc, "of a row that is not there", fail(newID(), token), false)
	next := sc.holder(5)
	next.publish(5)
	equal(sc, "of a row that was published", fail(id, next.held[5].Token), false)
	equal(sc, "state", sc.row(id).State, store.Published)
}

func failCutOff(sc *scene) {
	id := sc.crashed(5, "orders")[0]
	unlock := sc.place.LockRow(sc.T, id)
	defer unlock()
	ok, err := sc.s.Fail(sc.ctx(), id, sc.row(id).Token, store.ClassUnknown, "text", 50*time.Millisecond)
	equal(sc, "failed", ok, false)
	sc.is(err, store.ErrBusy)
}

func failCutOffWhole(sc *scene) {
	id := sc.crashed(5, "orders")[0]
	token := sc.row(id).Token
	tx := sc.begin()
	sc.must(tx.AddOutbox(sc.ctx(), entries(1, 5)))
	ok, err := sc.s.Fail(sc.ctx(), id, token, store.ClassUnknown, "text", 50*time.Millisecond)
	equal(sc, "failed", ok, false)
	sc.is(err, store.ErrBusy)
	sc.must(tx.Rollback(sc.ctx()))
	equal(sc, "state", sc.row(id).State, store.Publishing)
}
