package inbox_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/inbox"
	"github.com/holdfast-mq/holdfast/store"
)

var one = inbox.ID{Message: "1"}

func TestAfter_records_what_was_applied(t *testing.T) {
	db, e := newTables(), &effect{}
	r, err := inbox.After(t.Context(), db, consumer, one, func(ctx context.Context) error {
		if len(db.handled) != 0 {
			t.Error("recorded before the effect")
		}
		return e.apply(ctx)
	})
	if err != nil || r.Outcome != inbox.Applied || len(db.handled) != 1 {
		t.Errorf("%+v, %v, %v", r, err, db.handled)
	}
	r, err = inbox.After(t.Context(), db, consumer, one, e.apply)
	if err != nil || r.Outcome != inbox.Duplicate || r.Earlier.Duplicates != 1 || e.applied != 1 {
		t.Errorf("%+v, %v, applied %d times", r, err, e.applied)
	}
}

func TestAfter_records_nothing_of_a_failure(t *testing.T) {
	db, e, down := newTables(), &effect{}, errors.New("the bank is down")
	_, err := inbox.After(t.Context(), db, consumer, one, func(context.Context) error { return down })
	if !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = inbox.After(t.Context(), db, consumer, one, func(context.Context) error { panic("!") })
	}()
	if r, err := inbox.After(t.Context(), db, consumer, one, e.apply); err != nil || r.Outcome != inbox.Applied {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAfter_records_though_the_handlers_time_is_over(t *testing.T) {
	db := newTables()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := inbox.After(ctx, db, consumer, one, func(context.Context) error {
		cancel()
		return nil
	})
	if err != nil || r.Outcome != inbox.Applied || len(db.handled) != 1 {
		t.Errorf("%+v, %v, %v", r, err, db.handled)
	}
}

func TestAfter_a_record_that_fails_is_an_error(t *testing.T) {
	db := newTables()
	_, err := inbox.After(t.Context(), db, consumer, one, func(context.Context) error {
		db.down = store.ErrUnreachable
		return nil
	})
	if !errors.Is(err, store.ErrUnreachable) || !strings.Contains(err.Error(), "will be applied again") {
		t.Errorf("got %v", err)
	}
	db.down = store.ErrBusy
	if _, err = inbox.After(t.Context(), db, consumer, one, nil); !errors.Is(err, store.ErrConfig) {
		t.Errorf("without a function: %v", err)
	}
	if _, err = inbox.After(t.Context(), nil, consumer, one, (&effect{}).apply); !errors.Is(err, store.ErrConfig) {
		t.Errorf("without a store: %v", err)
	}
	e := &effect{}
	if _, err = inbox.After(t.Context(), db, consumer, one, e.apply); !errors.Is(err, store.ErrBusy) || e.applied != 0 {
		t.Errorf("a look that fails: %v, applied %d times", err, e.applied)
	}
}

// Two deliveries in one process: the second waits, and sees what became of the
// first.
func TestAfter_a_second_delivery_waits_for_the_first(t *testing.T) {
	for name, c := range map[string]struct {
		first error
		want  inbox.Outcome
		times int
	}{
		"and is its duplicate":  {nil, inbox.Duplicate, 1},
		"and runs if it failed": {errors.New("no"), inbox.Applied, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, e, gate := newTables(), &effect{}, make(chan struct{})
				var second inbox.Result
				var wg sync.WaitGroup
				wg.Go(func() {
					_, _ = inbox.After(t.Context(), db, consumer, one, func(ctx context.Context) error {
						<-gate
						_ = e.apply(ctx)
						return c.first
					})
				})
				synctest.Wait()
				wg.Go(func() { second, _ = inbox.After(t.Context(), db, consumer, one, e.apply) })
				synctest.Wait()
				if e.applied != 0 {
					t.Error("the second did not wait")
				}
				if r, err := inbox.After(t.Context(), db, consumer, inbox.ID{Message: "2"}, (&effect{}).apply); err != nil || r.Outcome != inbox.Applied {
					t.Errorf("another message: %+v, %v: it must not wait", r, err)
				}
				close(gate)
				wg.Wait()
				if second.Outcome != c.want || e.applied != c.times {
					t.Errorf("second %+v, applied %d times", second, e.applied)
				}
			})
		})
	}
}

func TestAfter_waits_no_longer_than_its_context(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, gate := newTables(), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = inbox.After(t.Context(), db, consumer, one, func(context.Context) error { <-gate; return nil })
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := inbox.After(ctx, db, consumer, one, (&effect{}).apply); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(gate)
		wg.Wait()
	})
}

// Another process handles the message at the same time: nobody here can wait
// for it.
func TestAfter_says_when_another_process_was_there_too(t *testing.T) {
	db := newTables()
	r, err := inbox.After(t.Context(), db, consumer, one, func(ctx context.Context) error {
		return db.in(func(x *tx) error {
			_, _, err := x.RecordInbox(ctx, store.Handled{Consumer: consumer, ID: "1", Replay: "theirs"})
			return err
		})
	})
	if err != nil || r.Outcome != inbox.Overlapped || r.Earlier.Replay != "theirs" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSetAside_inside_is_not_handled(t *testing.T) {
	m := &holdfast.Message{ID: "1", Body: []byte("{}")}
	setAside := func(ctx context.Context, x store.SetAsideTx) error {
		return inbox.SetAside(ctx, x, consumer, m, "invalid_state", "")
	}
	t.Run("Once", func(t *testing.T) {
		db, e := newTables(), &effect{}
		err := db.in(func(x *tx) error {
			r, err := inbox.Once(t.Context(), x, consumer, inbox.ID{Message: "of the body"}, func(ctx context.Context) error {
				return setAside(ctx, x)
			})
			if r.Outcome != inbox.Aside {
				t.Errorf("%+v", r)
			}
			return err
		})
		if err != nil || len(db.asides) != 1 || len(db.handled) != 0 {
			t.Fatalf("%v, %v, %v", err, db.asides, db.handled)
		}
		if r := once(t, db, inbox.ID{Message: "of the body"}, e.apply); r.Outcome != inbox.Applied || e.applied != 1 {
			t.Errorf("given back to work: %+v", r)
		}
	})
	t.Run("After", func(t *testing.T) {
		db, e := newTables(), &effect{}
		r, err := inbox.After(t.Context(), db, consumer, one, func(ctx context.Context) error {
			return db.in(func(x *tx) error { return setAside(ctx, x) })
		})
		if err != nil || r.Outcome != inbox.Aside || len(db.handled) != 0 {
			t.Fatalf("%+v, %v, %v", r, err, db.handled)
		}
		if r, err := inbox.After(t.Context(), db, consumer, one, e.apply); err != nil || r.Outcome != inbox.Applied {
			t.Errorf("given back to work: %+v, %v", r, err)
		}
	})
}
