package inbox_test

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

type key struct{ consumer, id string }

// tables is a store in memory with one transaction at a time, for what can be
// said without a database. What a test does not use is not there.
type tables struct {
	store.Inbox

	mu      sync.Mutex
	handled map[key]store.Handled
	marks   map[key]store.Mark
	asides  []store.Aside

	down   error               // of everything
	before func(op string)     // called before each transaction
	pruned []time.Duration     // the ages that were asked for
	prune  func(limit int) int // how many one call removes
}

func newTables() *tables {
	return &tables{handled: map[key]store.Handled{}, marks: map[key]store.Mark{}}
}

// tx is a transaction of somebody; begin holds the lock until its end.
type tx struct {
	*tables
	handled map[key]store.Handled
	marks   map[key]store.Mark
	asides  int
}

func (t *tables) begin() *tx {
	t.mu.Lock()
	return &tx{tables: t, handled: maps.Clone(t.handled), marks: maps.Clone(t.marks), asides: len(t.asides)}
}

func (x *tx) commit() { x.mu.Unlock() }

func (x *tx) rollback() {
	x.tables.handled, x.tables.marks, x.tables.asides = x.handled, x.marks, x.tables.asides[:x.asides]
	x.mu.Unlock()
}

// in runs fn as a caller does: commit when it returns nil, else roll back.
func (t *tables) in(fn func(x *tx) error) error {
	x := t.begin()
	defer func() {
		if v := recover(); v != nil {
			x.rollback()
			panic(v)
		}
	}()
	if err := fn(x); err != nil {
		x.rollback()
		return err
	}
	x.commit()
	return nil
}

func (x *tx) RecordInbox(_ context.Context, h store.Handled) (bool, store.Handled, error) {
	k := key{h.Consumer, h.ID}
	if x.down != nil {
		return false, store.Handled{}, x.down
	}
	if was, ok := x.tables.handled[k]; ok {
		was.Duplicates++
		x.tables.handled[k] = was
		return false, was, nil
	}
	x.tables.handled[k] = h
	return true, h, nil
}

func (x *tx) ForgetInbox(_ context.Context, consumer, id string) error {
	delete(x.tables.handled, key{consumer, id})
	return nil
}

func (x *tx) LockMark(_ context.Context, consumer, aggregate string) (store.Mark, bool, error) {
	m, ok := x.tables.marks[key{consumer, aggregate}]
	return m, ok, x.down
}

func (x *tx) SetMark(_ context.Context, consumer, aggregate string, m store.Mark) error {
	x.tables.marks[key{consumer, aggregate}] = m
	return nil
}

func (x *tx) PutAside(_ context.Context, a store.Aside) error {
	x.tables.asides = append(x.tables.asides, a)
	return x.down
}

func (t *tables) WithInbox(ctx context.Context, fn func(store.InboxTx) error) error {
	if t.before != nil {
		t.before("record")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return t.in(func(x *tx) error { return fn(x) })
}

func (t *tables) Handled(_ context.Context, consumer, id string) (store.Handled, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, ok := t.handled[key{consumer, id}]
	switch {
	case t.down != nil:
		return h, t.down
	case !ok:
		return h, store.ErrNotFound
	}
	return h, nil
}

func (t *tables) PruneInbox(_ context.Context, _ string, age time.Duration, limit int) (int, error) {
	t.pruned = append(t.pruned, age)
	if t.down != nil {
		return 1, t.down
	}
	return t.prune(limit), nil
}
