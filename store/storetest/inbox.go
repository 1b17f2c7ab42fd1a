package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var inboxCases = []testCase{
	{name: "the_first_is_recorded_and_the_second_is_a_duplicate", run: inboxTwice},
	{name: "in_a_callers_transaction_too", run: eachKind(inboxInTx)},
	{name: "a_rollback_makes_the_next_one_the_first", run: inboxRollback},
	{name: "another_consumer_of_the_same_message_is_first", run: inboxOtherConsumer},
	{name: "many_at_once_have_one_first", run: inboxAtOnce},
	{name: "who_comes_while_one_records_waits_for_its_commit", run: func(sc *scene) { inboxWaits(sc, true) }},
	{name: "who_comes_while_one_records_waits_for_its_rollback", run: func(sc *scene) { inboxWaits(sc, false) }},
	{name: "what_is_forgotten_is_handled_again", run: eachKind(inboxForget)},
	{name: "a_message_never_seen_is_not_found", run: inboxNotFound},
	{name: "consumers_are_counted", run: inboxCounts},
	{name: "prune_removes_the_oldest_of_one_consumer", run: inboxPrune},
}

// record notes a message in a transaction of the store's own.
func (sc *scene) record(consumer, id string) (bool, store.Handled) {
	sc.Helper()
	var first bool
	var was store.Handled
	sc.must(sc.s.WithInbox(sc.ctx(), func(tx store.InboxTx) (err error) {
		first, was, err = tx.RecordInbox(sc.ctx(), store.Handled{Consumer: consumer, ID: id})
		return err
	}))
	return first, was
}

func (sc *scene) handled(consumer, id string) store.Handled {
	sc.Helper()
	h, err := sc.s.Handled(sc.ctx(), consumer, id)
	sc.must(err)
	return h
}

func inboxTwice(sc *scene) {
	first := false
	sc.must(sc.s.WithInbox(sc.ctx(), func(tx store.InboxTx) (err error) {
		first, _, err = tx.RecordInbox(sc.ctx(), store.Handled{Consumer: "billing", ID: "m-1", Replay: "r-1"})
		return err
	}))
	equal(sc, "first", first, true)
	h := sc.handled("billing", "m-1")
	equal(sc, "duplicates", h.Duplicates, 0)
	for i := range 2 {
		first, was := sc.record("billing", "m-1")
		equal(sc, "first", first, false)
		equal(sc, "replay of the first record", was.Replay, "r-1")
		equal(sc, "whose record", was.Consumer+" "+was.ID, "billing m-1")
		equal(sc, "time of the first record", was.At.Equal(h.At), true)
		equal(sc, "duplicates", sc.handled("billing", "m-1").Duplicates, i+1)
	}
	if h.At.IsZero() || h.At.Location() != time.UTC {
		sc.Errorf("recorded at %v", h.At)
	}
}

func inboxInTx(sc *scene, kind string) {
	tx := sc.beginKind(kind)
	id := newID()
	for i := range 2 {
		first, _, err := tx.RecordInbox(sc.ctx(), store.Handled{Consumer: "billing", ID: id})
		sc.must(err)
		equal(sc, "first", first, i == 0)
	}
	_, err := sc.s.Handled(sc.ctx(), "billing", id)
	sc.is(err, store.ErrNotFound)
	sc.must(tx.Commit(sc.ctx()))
	equal(sc, "duplicates", sc.handled("billing", id).Duplicates, 1)
}

func inboxRollback(sc *scene) {
	tx := sc.begin()
	first, _, err := tx.RecordInbox(sc.ctx(), store.Handled{Consumer: "billing", ID: "m-1"})
	sc.must(err)
	equal(sc, "first", first, true)
	sc.must(tx.Rollback(sc.ctx()))
	failure := errors.New("the effect failed")
	sc.is(sc.s.WithInbox(sc.ctx(), func(tx store.InboxTx) error {
		first, _, err := tx.RecordInbox(sc.ctx(), store.Handled{Consumer: "billing", ID: "m-1"})
		if err == nil && !first {
			return errors.New("a record that was rolled back is there")
		}
		return errors.Join(err, failure)
	}), failure)
	first, _ = sc.record("billing", "m-1")
	equal(sc, "first, after two rollbacks", first, true)
}

func inboxOtherConsumer(sc *scene) {
	for _, consumer := range []string{"billing", "shipping", "Billing", ""} {
		first, _ := sc.record(consumer, "m-1")
		equal(sc, "first of "+consumer, first, true)
	}
}

func inboxAtOnce(sc *scene) {
	const workers = 8
	type result struct {
		first bool
		err   error
	}
	results := make(chan result, workers)
	stores := []Store{sc.s, sc.open()}
	for i := range workers {
		s, ctx := stores[i%len(stores)], sc.ctx()
		go func() {
			var r result
			r.err = s.WithInbox(ctx, func(tx store.InboxTx) (err error) {
				r.first, _, err = tx.RecordInbox(ctx, store.Handled{Consumer: "billing", ID: "m-1"})
				return err
			})
			results <- r
		}()
	}
	firsts := 0
	for range workers {
		r := within(sc, "a record", results)
		sc.must(r.err)
		if r.first {
			firsts++
		}
	}
	equal(sc, "firsts", firsts, 1)
	equal(sc, "duplicates", sc.handled("billing", "m-1").Duplicates, workers-1)
}

func inboxWaits(sc *scene, commit bool) {
	tx := sc.begin()
	_, _, err := tx.RecordInbox(sc.ctx(), store.Handled{Consumer: "billing", ID: "m-1"})
	sc.must(err)
	other, ctx := sc.open(), sc.ctx()
	results := make(chan string, 1)
	go func() {
		results <- fmt.Sprint(other.WithInbox(ctx, func(tx store.InboxTx) error {
			first, _, err := tx.RecordInbox(ctx, store.Handled{Consumer: "billing", ID: "m-1"})
			if err == nil && first == commit {
				err = fmt.Errorf("first is %v", first)
			}
			return err
		}))
	}()
	notYet(sc, "the second record", results)
	if commit {
		sc.must(tx.Commit(sc.ctx()))
	} else {
		sc.must(tx.Rollback(sc.ctx()))
	}
	equal(sc, "what came of the second", within(sc, "the second record", results), "<nil>")
}

func inboxForget(sc *scene, kind string) {
	id := newID()
	sc.record("billing", id)
	sc.record("shipping", id)
	tx := sc.beginKind(kind)
	sc.must(tx.ForgetInbox(sc.ctx(), "billing", id))
	sc.must(tx.ForgetInbox(sc.ctx(), "billing", id))
	sc.must(tx.Commit(sc.ctx()))
	first, _ := sc.record("billing", id)
	equal(sc, "first", first, true)
	first, _ = sc.record("shipping", id)
	equal(sc, "first of another consumer", first, false)
}

func inboxNotFound(sc *scene) {
	_, err := sc.s.Handled(sc.ctx(), "billing", "m-1")
	sc.is(err, store.ErrNotFound)
	_, err = sc.s.Mark(sc.ctx(), "billing", "order-1")
	sc.is(err, store.ErrNotFound)
}

func inboxCounts(sc *scene) {
	for _, id := range []string{"m-1", "m-2", "m-1", "m-1"} {
		sc.record("billing", id)
	}
	sc.record("shipping", "m-1")
	sc.place.Backdate(sc.T, Handled, "m-2", time.Hour)
	inboxes, err := sc.s.Inboxes(sc.ctx())
	sc.must(err)
	equal(sc, "consumers", len(inboxes), 2)
	for _, in := range inboxes {
		switch in.Consumer {
		case "billing":
			equal(sc, "records", in.Count, 2)
			equal(sc, "duplicates", in.Duplicates, 2)
			if in.Oldest < time.Hour || in.Oldest > 2*time.Hour {
				sc.Errorf("the oldest is %v old", in.Oldest)
			}
		case "shipping":
			equal(sc, "records", in.Count, 1)
		default:
			sc.Errorf("there is a consumer %q", in.Consumer)
		}
	}
}

func inboxPrune(sc *scene) {
	for i, id := range []string{"m-1", "m-2", "m-3", "m-4"} {
		sc.record("billing", id)
		sc.place.Backdate(sc.T, Handled, id, time.Duration(4-i)*time.Hour)
	}
	sc.record("shipping", "m-5")
	sc.place.Backdate(sc.T, Handled, "m-5", 9*time.Hour)
	for _, want := range []int{2, 1, 0} {
		n, err := sc.s.PruneInbox(sc.ctx(), "billing", 90*time.Minute, 2)
		sc.must(err)
		equal(sc, "removed", n, want)
		_, err = sc.s.Handled(sc.ctx(), "billing", "m-2")
		sc.is(err, store.ErrNotFound)
	}
	sc.handled("billing", "m-4")
	sc.handled("shipping", "m-5")
}
