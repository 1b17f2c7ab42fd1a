package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// scene is the stage of one case: a place of its own, and a store on it.
type scene struct {
	*testing.T
	env   *Env
	place Place
	s     Store
}

func newScene(t *testing.T, env *Env, bare bool) *scene {
	sc := &scene{T: t, env: env, place: env.New(t)}
	sc.place.check(t, env)
	sc.s = sc.open()
	if !bare {
		sc.must(sc.s.Migrate(sc.ctx()))
	}
	return sc
}

// open returns another store on the same place, closed at the end.
func (sc *scene) open() Store {
	sc.Helper()
	s, end := sc.place.Open(sc.T)
	sc.Cleanup(end)
	return s
}

// ctx ends when nothing that it is given to may still take longer.
func (sc *scene) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), sc.env.patience())
	sc.Cleanup(cancel)
	return ctx
}

// must ends the case on an error.
func (sc *scene) must(err error) {
	sc.Helper()
	if err != nil {
		sc.Fatalf("%v", err)
	}
}

// is ends the case unless err has that class.
func (sc *scene) is(err, class error) {
	sc.Helper()
	if !errors.Is(err, class) {
		sc.Fatalf("the error is %v, not of the class %q", err, class)
	}
}

// equal ends the case unless got is want.
func equal[T comparable](sc *scene, what string, got, want T) {
	sc.Helper()
	if got != want {
		sc.Fatalf("%s: got %#v, want %#v", what, got, want)
	}
}

// same ends the case unless both have the same elements in the same order.
func same[T comparable](sc *scene, what string, got, want []T) {
	sc.Helper()
	if !slices.Equal(got, want) {
		sc.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// eventually polls ok until it is true, and ends the case when that takes too
// long. It is the only way to wait for what gives no signal.
func (sc *scene) eventually(what string, ok func() bool) {
	sc.Helper()
	deadline := time.Now().Add(sc.env.patience())
	for !ok() {
		if time.Now().After(deadline) {
			sc.Fatalf("not within %v: %s", sc.env.patience(), what)
		}
		time.Sleep(pollEvery)
	}
}

// within waits for a result.
func within[T any](sc *scene, what string, result <-chan T) T {
	sc.Helper()
	select {
	case v := <-result:
		return v
	case <-time.After(sc.env.patience()):
		sc.Fatalf("not within %v: %s", sc.env.patience(), what)
		panic("unreachable")
	}
}

// notYet watches for a result that must not come.
func notYet[T any](sc *scene, what string, result <-chan T) {
	sc.Helper()
	select {
	case v := <-result:
		sc.Fatalf("too early: %s: %v", what, v)
	case <-time.After(quiet):
	}
}

// begin begins a transaction of any kind that the store wraps, which is rolled
// back at the end.
func (sc *scene) begin() Tx {
	sc.Helper()
	kinds := sc.kinds()
	return sc.beginKind(kinds[0])
}

func (sc *scene) beginKind(kind string) Tx {
	sc.Helper()
	tx := sc.place.Begin[kind](sc.T)
	sc.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // committed long ago, unless the case failed
	return tx
}

func (sc *scene) kinds() []string {
	kinds := make([]string, 0, len(sc.place.Begin))
	for kind := range sc.place.Begin {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// commit runs write in a transaction of the caller and commits it.
func (sc *scene) commit(write func(tx Tx) error) {
	sc.Helper()
	tx := sc.begin()
	sc.must(write(tx))
	sc.must(tx.Commit(sc.ctx()))
}

// add commits entries and returns their ids.
func (sc *scene) add(entries ...store.Entry) []string {
	sc.Helper()
	sc.commit(func(tx Tx) error { return tx.AddOutbox(sc.ctx(), entries) })
	return entryIDs(entries)
}

// row is a row of the outbox that must be there.
func (sc *scene) row(id string) store.Row {
	sc.Helper()
	row, err := sc.s.Row(sc.ctx(), id)
	sc.must(err)
	return row
}

// newID is a random UUID in its canonical form.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newEntry is an entry of one lane, without an ordering key.
func newEntry(lane int) store.Entry {
	return store.Entry{
		ID: newID(), Lane: lane, Destination: "orders", Keys: []string{"order.placed.v1"}, Type: "order.placed.v1",
		ContentType: "application/json", Payload: []byte(`{"n":1}`),
	}
}

// keyed is an entry of one lane with an ordering key.
func keyed(lane int, key string) store.Entry {
	e := newEntry(lane)
	e.OrderingKey = key
	return e
}

// to is an entry of one lane for a destination.
func to(lane int, destination string) store.Entry {
	e := newEntry(lane)
	e.Destination = destination
	return e
}

// entries returns n entries of one lane.
func entries(n, lane int) []store.Entry {
	all := make([]store.Entry, n)
	for i := range all {
		all[i] = newEntry(lane)
	}
	return all
}

func entryIDs(entries []store.Entry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return ids
}

func rowIDs(rows []store.Row) []string {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids
}
