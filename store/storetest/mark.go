package storetest

import (
	"context"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var markCases = []testCase{
	{name: "a_mark_comes_back", run: eachKind(markReturns)},
	{name: "aggregates_and_consumers_have_marks_of_their_own", run: markOwn},
	{name: "a_rollback_leaves_the_old_mark", run: markRollback},
	{name: "a_locked_mark_is_waited_for", run: func(sc *scene) { markWaits(sc, true) }},
	{name: "a_mark_that_is_not_there_yet_is_waited_for_too", run: func(sc *scene) { markWaits(sc, false) }},
	{name: "many_who_add_one_lose_none", run: markAtOnce},
	{name: "a_lock_alone_makes_no_mark", run: markLockAlone},
}

func markReturns(sc *scene, kind string) {
	want := store.Mark{Time: time.Now().UTC().Round(0), Sequence: 1 << 60, Stale: 3, Gaps: 4}
	aggregate := newID()
	tx := sc.beginKind(kind)
	_, there, err := tx.LockMark(sc.ctx(), "billing", aggregate)
	sc.must(err)
	equal(sc, "there at first", there, false)
	sc.must(tx.SetMark(sc.ctx(), "billing", aggregate, want))
	got, there, err := tx.LockMark(sc.ctx(), "billing", aggregate)
	sc.must(err)
	equal(sc, "there in the same transaction", there, true)
	equal(sc, "the mark", got, want)
	sc.must(tx.Commit(sc.ctx()))
	got, err = sc.s.Mark(sc.ctx(), "billing", aggregate)
	sc.must(err)
	equal(sc, "the mark", got, want)
}

func (sc *scene) setMark(consumer, aggregate string, sequence int64) {
	sc.Helper()
	sc.must(sc.s.WithInbox(sc.ctx(), func(tx store.InboxTx) error {
		return tx.SetMark(sc.ctx(), consumer, aggregate, store.Mark{Sequence: sequence})
	}))
}

func markOwn(sc *scene) {
	sc.setMark("billing", "order-1", 1)
	sc.setMark("billing", "order-2", 2)
	sc.setMark("shipping", "order-1", 3)
	for i, key := range [][2]string{{"billing", "order-1"}, {"billing", "order-2"}, {"shipping", "order-1"}} {
		m, err := sc.s.Mark(sc.ctx(), key[0], key[1])
		sc.must(err)
		equal(sc, "the mark", m, store.Mark{Sequence: int64(i + 1)})
	}
}

func markRollback(sc *scene) {
	sc.setMark("billing", "order-1", 1)
	tx := sc.begin()
	sc.must(tx.SetMark(sc.ctx(), "billing", "order-1", store.Mark{Sequence: 2}))
	sc.must(tx.Rollback(sc.ctx()))
	m, err := sc.s.Mark(sc.ctx(), "billing", "order-1")
	sc.must(err)
	equal(sc, "sequence", m.Sequence, 1)
}

func markWaits(sc *scene, there bool) {
	if there {
		sc.setMark("billing", "order-1", 1)
	}
	tx := sc.begin()
	_, found, err := tx.LockMark(sc.ctx(), "billing", "order-1")
	sc.must(err)
	equal(sc, "there", found, there)
	other, ctx := sc.open(), sc.ctx()
	results := make(chan int64, 1)
	go func() { results <- sequenceOf(ctx, other) }()
	notYet(sc, "the second who locks", results)
	sc.must(tx.SetMark(sc.ctx(), "billing", "order-1", store.Mark{Sequence: 2}))
	sc.must(tx.Commit(sc.ctx()))
	equal(sc, "sequence that the second saw", within(sc, "the lock", results), 2)
}

// sequenceOf locks a mark and returns its sequence, or a negative number.
func sequenceOf(ctx context.Context, s Store) int64 {
	sequence := int64(-1)
	if err := s.WithInbox(ctx, func(tx store.InboxTx) error {
		m, _, err := tx.LockMark(ctx, "billing", "order-1")
		sequence = m.Sequence
		return err
	}); err != nil {
		return -2
	}
	return sequence
}

func markAtOnce(sc *scene) {
	const workers, each = 4, 5
	ended := make(chan error, workers)
	stores := []Store{sc.s, sc.open()}
	for i := range workers {
		s, ctx := stores[i%len(stores)], sc.ctx()
		go func() {
			var err error
			for range each {
				if err == nil {
					err = s.WithInbox(ctx, func(tx store.InboxTx) error { return addOne(ctx, tx) })
				}
			}
			ended <- err
		}()
	}
	for range workers {
		sc.must(within(sc, "the end of a worker", ended))
	}
	m, err := sc.s.Mark(sc.ctx(), "billing", "order-1")
	sc.must(err)
	equal(sc, "sequence", m.Sequence, workers*each)
}

func addOne(ctx context.Context, tx store.InboxTx) error {
	m, _, err := tx.LockMark(ctx, "billing", "order-1")
	if err != nil {
		return err
	}
	m.Sequence++
	return tx.SetMark(ctx, "billing", "order-1", m)
}

func markLockAlone(sc *scene) {
	sc.commit(func(tx Tx) error {
		_, _, err := tx.LockMark(sc.ctx(), "billing", "order-1")
		return err
	})
	_, err := sc.s.Mark(sc.ctx(), "billing", "order-1")
	sc.is(err, store.ErrNotFound)
}
