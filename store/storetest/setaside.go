package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var asideCases = []testCase{
	{name: "every_field_comes_back", run: eachKind(asideReturns)},
	{name: "a_rollback_leaves_nothing", run: asideRollback},
	{name: "the_same_message_twice_is_one_row", run: asideTwice},
	{name: "messages_without_an_id_are_all_kept", run: asideWithoutID},
	{name: "what_is_set_aside_was_not_handled", run: eachKind(asideForgets)},
	{name: "reasons_are_counted", run: asideReasons},
	{name: "each_filter_selects", run: asideFilters},
	{name: "redrive_publishes_and_removes", run: redriveRemoves},
	{name: "a_publish_that_fails_keeps_the_row", run: redriveFails},
	{name: "what_was_published_is_removed_also_when_the_context_has_ended", run: redriveCancelled},
	{name: "two_who_redrive_one_publish_it_once", run: redriveAtOnce},
	{name: "after_a_redrive_it_may_be_set_aside_again", run: redriveThenAside},
	{name: "drop_removes_one_row", run: asideDrop},
}

func newAside(messageID, reason string) store.Aside {
	return store.Aside{
		ID: newID(), Consumer: "billing", Queue: "orders.billing", Reason: reason, MessageID: messageID,
		Type: "order.paid.v1", Headers: []byte(`{}`), Payload: []byte(`{"n":1}`),
	}
}

// aside commits rows and returns their ids.
func (sc *scene) aside(rows ...store.Aside) (ids []string) {
	sc.Helper()
	for _, a := range rows {
		sc.commit(func(tx Tx) error { return tx.PutAside(sc.ctx(), a) })
		ids = append(ids, a.ID)
	}
	return ids
}

func (sc *scene) asides(f store.AsideFilter) (ids []string) {
	sc.Helper()
	rows, err := sc.s.Asides(sc.ctx(), f)
	sc.must(err)
	for _, a := range rows {
		ids = append(ids, a.ID)
		equal(sc, "length of a listed payload", len(a.Payload), 0)
	}
	return ids
}

func asideReturns(sc *scene, kind string) {
	want := newAside(newID(), "invalid_state")
	want.Note, want.CorrelationID, want.Exchange, want.Key, want.ContentType = "żółw 'a'", "c-1", "orders", "order.paid.v1", "application/json"
	want.Headers = []byte(`{"a": "b", "n": 12345678901234567890, "t": [true, null]}`)
	want.Payload = bytes.Repeat(everyByte(), 100)
	tx := sc.beginKind(kind)
	sc.must(tx.PutAside(sc.ctx(), want))
	sc.must(tx.Commit(sc.ctx()))
	got, err := sc.s.Aside(sc.ctx(), want.ID)
	sc.must(err)
	if got.At.IsZero() || got.At.Location() != time.UTC || !got.RedrivenAt.IsZero() || got.Redrives != 0 {
		sc.Errorf("set aside at %v, redriven at %v, %d times", got.At, got.RedrivenAt, got.Redrives)
	}
	equal(sc, "headers", compact(sc, got.Headers), compact(sc, want.Headers))
	got.At, got.Headers, want.Headers = time.Time{}, nil, nil
	if !reflect.DeepEqual(got, want) {
		sc.Fatalf("got %+v, want %+v", got, want)
	}
}

func compact(sc *scene, object []byte) string {
	sc.Helper()
	var b bytes.Buffer
	sc.must(json.Compact(&b, object))
	return b.String()
}

func asideRollback(sc *scene) {
	a := newAside("m-1", "invalid_state")
	tx := sc.begin()
	sc.must(tx.PutAside(sc.ctx(), a))
	sc.must(tx.Rollback(sc.ctx()))
	_, err := sc.s.Aside(sc.ctx(), a.ID)
	sc.is(err, store.ErrNotFound)
	for _, id := range []string{"", "no id", newID()} {
		_, err = sc.s.Aside(sc.ctx(), id)
		sc.is(err, store.ErrNotFound)
	}
}

func asideTwice(sc *scene) {
	first := newAside("m-1", "invalid_state")
	again, reason, consumer := newAside("m-1", "invalid_state"), newAside("m-1", "gap"), newAside("m-1", "invalid_state")
	consumer.Consumer = "shipping"
	ids := sc.aside(first, again, reason, consumer)
	same(sc, "rows", sc.asides(store.AsideFilter{}), slices.Delete(ids, 1, 2))
}

func asideWithoutID(sc *scene) {
	ids := sc.aside(newAside("", "invalid_state"), newAside("", "invalid_state"))
	same(sc, "rows", sc.asides(store.AsideFilter{}), ids)
}

func asideForgets(sc *scene, kind string) {
	a := newAside(newID(), "gap")
	tx := sc.beginKind(kind)
	for _, consumer := range []string{"billing", "shipping"} {
		_, _, err := tx.RecordInbox(sc.ctx(), store.Handled{Consumer: consumer, ID: a.MessageID})
		sc.must(err)
	}
	sc.must(tx.PutAside(sc.ctx(), a))
	sc.must(tx.Commit(sc.ctx()))
	_, err := sc.s.Handled(sc.ctx(), "billing", a.MessageID)
	sc.is(err, store.ErrNotFound)
	sc.handled("shipping", a.MessageID)
}

func asideReasons(sc *scene) {
	other := newAside("m-3", "gap")
	other.Type = "order.placed.v1"
	ids := sc.aside(newAside("m-1", "gap"), newAside("m-2", "gap"), other, newAside("m-4", "invalid_state"))
	sc.place.Backdate(sc.T, SetAside, ids[0], 2*time.Hour)
	sc.place.Backdate(sc.T, SetAside, ids[1], time.Hour)
	groups, err := sc.s.AsideReasons(sc.ctx())
	sc.must(err)
	equal(sc, "groups", len(groups), 3)
	for _, g := range groups {
		if g.Reason == "gap" && g.Type == "order.paid.v1" {
			equal(sc, "count", g.Count, 2)
			equal(sc, "oldest", g.Oldest.Truncate(time.Hour), 2*time.Hour)
			equal(sc, "newest", g.Newest.Truncate(time.Hour), time.Hour)
		} else {
			equal(sc, "count", g.Count, 1)
		}
		equal(sc, "consumer", g.Consumer, "billing")
	}
}

func asideFilters(sc *scene) {
	other := newAside("m-3", "gap")
	other.Consumer, other.Type = "shipping", "order.placed.v1"
	ids := sc.aside(newAside("m-1", "gap"), newAside("m-2", "invalid_state"), other)
	for i, id := range ids {
		sc.place.Backdate(sc.T, SetAside, id, time.Duration(i)*time.Hour)
	}
	same(sc, "all, oldest first", sc.asides(store.AsideFilter{}), []string{ids[2], ids[1], ids[0]})
	same(sc, "by id", sc.asides(store.AsideFilter{IDs: []string{ids[1], "no id"}}), ids[1:2])
	same(sc, "by consumer", sc.asides(store.AsideFilter{Consumer: "shipping"}), ids[2:])
	same(sc, "by reason", sc.asides(store.AsideFilter{Reason: "invalid_state"}), ids[1:2])
	same(sc, "by type", sc.asides(store.AsideFilter{Type: "order.placed.v1"}), ids[2:])
	same(sc, "by age", sc.asides(store.AsideFilter{Before: 90 * time.Minute}), ids[2:])
	same(sc, "with a limit", sc.asides(store.AsideFilter{Limit: 1}), ids[2:])
	same(sc, "by two", sc.asides(store.AsideFilter{Reason: "gap", Consumer: "billing"}), ids[:1])
}

func redriveRemoves(sc *scene) {
	want := newAside("m-1", "invalid_state")
	id := sc.aside(want)[0]
	var got store.Aside
	ok, err := sc.s.Redrive(sc.ctx(), id, func(a store.Aside) error { got = a; return nil })
	sc.must(err)
	equal(sc, "redriven", ok, true)
	equal(sc, "payload", string(got.Payload), string(want.Payload))
	equal(sc, "id", got.ID, id)
	equal(sc, "rows", len(sc.asides(store.AsideFilter{})), 0)
	for _, id := range []string{id, "no id"} {
		ok, err = sc.s.Redrive(sc.ctx(), id, func(store.Aside) error { return errors.New("published again") })
		sc.must(err)
		equal(sc, "redriven again", ok, false)
	}
}

func redriveFails(sc *scene) {
	id := sc.aside(newAside("m-1", "invalid_state"))[0]
	unrouted := errors.New("no queue took it")
	ok, err := sc.s.Redrive(sc.ctx(), id, func(store.Aside) error { return unrouted })
	sc.is(err, unrouted)
	equal(sc, "redriven", ok, false)
	a, err := sc.s.Aside(sc.ctx(), id)
	sc.must(err)
	equal(sc, "redrives", a.Redrives, 1)
	if a.RedrivenAt.Before(a.At) {
		sc.Errorf("redriven at %v", a.RedrivenAt)
	}
}

func redriveAtOnce(sc *scene) {
	id := sc.aside(newAside("m-1", "invalid_state"))[0]
	const people = 4
	type result struct {
		ok  bool
		err error
	}
	results, published := make(chan result, people), make(chan struct{}, people)
	for range people {
		s, ctx := sc.open(), sc.ctx()
		go func() {
			ok, err := s.Redrive(ctx, id, func(store.Aside) error { published <- struct{}{}; return nil })
			results <- result{ok, err}
		}()
	}
	redriven := 0
	for range people {
		r := within(sc, "a redrive", results)
		sc.must(r.err)
		if r.ok {
			redriven++
		}
	}
	equal(sc, "redriven", redriven, 1)
	equal(sc, "published", len(published), 1)
}

func redriveThenAside(sc *scene) {
	id := sc.aside(newAside("m-1", "invalid_state"))[0]
	_, err := sc.s.Redrive(sc.ctx(), id, func(store.Aside) error { return nil })
	sc.must(err)
	ids := sc.aside(newAside("m-1", "invalid_state"))
	same(sc, "rows", sc.asides(store.AsideFilter{}), ids)
}

func asideDrop(sc *scene) {
	ids := sc.aside(newAside("m-1", "gap"), newAside("m-2", "gap"))
	for _, want := range []bool{true, false} {
		ok, err := sc.s.DropAside(sc.ctx(), ids[0])
		sc.must(err)
		equal(sc, "dropped", ok, want)
	}
	ok, err := sc.s.DropAside(sc.ctx(), "no id")
	sc.must(err)
	equal(sc, "dropped", ok, false)
	same(sc, "what is left", sc.asides(store.AsideFilter{}), ids[1:])
}

// redriveCancelled proves that what was published is removed, also when whoever
// asked has gone meanwhile.
func redriveCancelled(sc *scene) {
	id := sc.aside(newAside("m-1", "invalid_state"))[0]
	ctx, cancel := context.WithCancel(sc.ctx())
	ok, err := sc.s.Redrive(ctx, id, func(store.Aside) error { cancel(); return nil })
	sc.must(err)
	equal(sc, "redriven", ok, true)
	equal(sc, "rows", len(sc.asides(store.AsideFilter{})), 0)
}
