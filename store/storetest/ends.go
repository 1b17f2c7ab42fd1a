package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var endCases = []testCase{
	{name: "a_cancelled_context_does_nothing", run: cancelledDoesNothing},
	{name: "a_context_cancelled_within_a_transaction_rolls_it_back", run: cancelledWithin},
	{name: "a_closed_store_answers_with_an_error", run: closedStore},
	{name: "closing_leaves_the_others_open", run: closedAlone},
	{name: "a_panic_in_a_callback_leaves_nothing_locked", run: panicWithin},
}

// calls are the calls of a store that read or write something that is there.
func calls(ctx context.Context, s Store, r *relay, id string) map[string]error {
	_, beat := s.Beat(ctx, store.Relay{ID: newID()})
	_, take := s.Take(ctx, newID(), []store.Lease{r.held[5]})
	_, due := s.Due(ctx, []store.Claim{r.of(5)})
	_, claim := s.Claim(ctx, r.of(5))
	_, record := s.Record(ctx, r.of(5), []store.Outcome{{ID: id, State: store.Published, Confirmed: 1}})
	_, _, stuck := s.Stuck(ctx, 0, nil, 1)
	_, fail := s.Fail(ctx, id, r.held[5].Token, store.ClassUnknown, "text", time.Second)
	_, status := s.Status(ctx)
	_, list := s.List(ctx, store.Filter{})
	_, row := s.Row(ctx, id)
	_, rearm := s.Rearm(ctx, store.Filter{State: store.Publishing}, nil)
	_, prune := s.Prune(ctx, 0, 1, nil)
	_, handled := s.Handled(ctx, "billing", "m-1")
	_, inboxes := s.Inboxes(ctx)
	_, redrive := s.Redrive(ctx, id, func(store.Aside) error { return nil })
	return map[string]error{
		"Check": s.Check(ctx), "Beat": beat, "Take": take, "Due": due, "Claim": claim, "Record": record, "Stuck": stuck,
		"Fail": fail, "Status": status, "List": list, "Row": row, "Rearm": rearm, "Prune": prune, "Handled": handled,
		"Inboxes": inboxes, "Redrive": redrive, "Forget": s.Forget(ctx, []string{r.id}),
		"Yield":     s.Yield(ctx, r.id, []store.Lease{r.held[5]}, true),
		"WithInbox": s.WithInbox(ctx, func(store.InboxTx) error { return nil }),
		"Wait":      s.Wait(ctx, time.Millisecond),
	}
}

// working is a row that a relay has claimed, as calls expects it.
func working(sc *scene) (r *relay, id string) {
	sc.Helper()
	id = sc.add(newEntry(5))[0]
	r = sc.holder(5)
	r.claim(5)
	return r, id
}

func cancelledDoesNothing(sc *scene) {
	r, id := working(sc)
	before := sc.row(id)
	ctx, cancel := context.WithCancel(sc.ctx())
	cancel()
	for call, err := range calls(ctx, sc.s, r, id) {
		if !errors.Is(err, context.Canceled) {
			sc.Errorf("%s: %v", call, err)
		}
	}
	now := sc.row(id)
	equal(sc, "state", now.State, before.State)
	equal(sc, "token", now.Token, before.Token)
	equal(sc, "holder", sc.seen(5)[0], r.held[5])
	equal(sc, "relays", len(r.beat().Relays), 1)
}

func cancelledWithin(sc *scene) {
	ctx, cancel := context.WithCancel(sc.ctx())
	err := sc.s.WithInbox(ctx, func(tx store.InboxTx) error {
		_, _, err := tx.RecordInbox(ctx, store.Handled{Consumer: "billing", ID: "m-1"})
		cancel()
		return err
	})
	sc.is(err, context.Canceled)
	_, err = sc.s.Handled(sc.ctx(), "billing", "m-1")
	sc.is(err, store.ErrNotFound)
	first, _ := sc.record("billing", "m-1")
	equal(sc, "first", first, true)
}

func closedStore(sc *scene) {
	r, id := working(sc)
	s, end := sc.place.Open(sc.T)
	end()
	end()
	for call, err := range calls(sc.ctx(), s, r, id) {
		if err == nil {
			sc.Errorf("%s: no error", call)
		}
	}
}

func closedAlone(sc *scene) {
	_, end := sc.place.Open(sc.T)
	end()
	id := sc.add(newEntry(5))[0]
	equal(sc, "state", sc.row(id).State, store.Pending)
}

// panicWithin proves that a callback that panics neither keeps a lock nor
// commits.
func panicWithin(sc *scene) {
	id := sc.aside(newAside("m-1", "gap"))[0]
	panics := func(call func()) {
		defer func() {
			if recover() == nil {
				sc.Error("the panic did not reach the caller")
			}
		}()
		call()
	}
	panics(func() {
		_ = sc.s.WithInbox(sc.ctx(), func(tx store.InboxTx) error {
			_, _, err := tx.RecordInbox(sc.ctx(), store.Handled{Consumer: "billing", ID: "m-1"})
			sc.must(err)
			panic("of the suite")
		})
	})
	panics(func() {
		_, _ = sc.s.Redrive(sc.ctx(), id, func(store.Aside) error { panic("of the suite") })
	})
	first, _ := sc.record("billing", "m-1")
	equal(sc, "first", first, true)
	same(sc, "rows set aside", sc.asides(store.AsideFilter{}), []string{id})
}
