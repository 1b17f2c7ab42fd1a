package inbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/inbox"
	"github.com/holdfast-mq/holdfast/store"
)

const consumer = "billing"

// effect counts how often it was applied.
type effect struct{ applied int }

func (e *effect) apply(context.Context) error {
	e.applied++
	return nil
}

func once(t *testing.T, db *tables, id inbox.ID, fn func(context.Context) error) inbox.Result {
	t.Helper()
	var r inbox.Result
	err := db.in(func(x *tx) (err error) {
		r, err = inbox.Once(t.Context(), x, consumer, id, fn)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOnce_a_duplicate_is_a_result(t *testing.T) {
	db, e := newTables(), &effect{}
	if r := once(t, db, inbox.ID{Message: "1", Replay: "r1"}, e.apply); r.Outcome != inbox.Applied {
		t.Errorf("first: %+v", r)
	}
	r := once(t, db, inbox.ID{Message: "1"}, e.apply)
	if r.Outcome != inbox.Duplicate || r.Earlier.Duplicates != 1 || r.Earlier.Replay != "r1" || e.applied != 1 {
		t.Errorf("second: %+v, applied %d times", r, e.applied)
	}
	if r := once(t, db, inbox.ID{Message: "2"}, e.apply); r.Outcome != inbox.Applied || e.applied != 2 {
		t.Errorf("another: %+v", r)
	}
	err := db.in(func(x *tx) error {
		r, err := inbox.Once(t.Context(), x, "shipping", inbox.ID{Message: "1"}, e.apply)
		if r.Outcome != inbox.Applied || e.applied != 3 {
			t.Errorf("another consumer: %+v", r)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestOnce_a_rolled_back_message_is_no_duplicate_of_itself(t *testing.T) {
	db, e := newTables(), &effect{}
	down := errors.New("the bank is down")
	err := db.in(func(x *tx) error {
		_, err := inbox.Once(t.Context(), x, consumer, inbox.ID{Message: "1"}, func(context.Context) error { return holdfast.Hold(down) })
		return err
	})
	var verdict interface {
		HoldfastVerdict() (string, time.Duration)
	}
	if !errors.Is(err, down) || !errors.As(err, &verdict) {
		t.Fatalf("got %v: the error and its verdict are fn's own", err)
	}
	if r := once(t, db, inbox.ID{Message: "1"}, e.apply); r.Outcome != inbox.Applied || e.applied != 1 {
		t.Errorf("retried: %+v", r)
	}
}

func TestOnce_after_a_panic_runs_again(t *testing.T) {
	db, e := newTables(), &effect{}
	func() {
		defer func() { _ = recover() }()
		_ = db.in(func(x *tx) error {
			_, err := inbox.Once(t.Context(), x, consumer, inbox.ID{Message: "1"}, func(context.Context) error { panic("!") })
			return err
		})
	}()
	if r := once(t, db, inbox.ID{Message: "1"}, e.apply); r.Outcome != inbox.Applied || e.applied != 1 {
		t.Errorf("retried: %+v", r)
	}
}

func TestOnce_refuses(t *testing.T) {
	db := newTables()
	fn := func(context.Context) error { return nil }
	for name, c := range map[string]struct {
		consumer string
		id       string
		tx       store.InboxTx
		fn       func(context.Context) error
		want     string
	}{
		"an empty id":           {consumer, "", &tx{tables: db}, fn, "take the id of what the body tells"},
		"a long id":             {consumer, strings.Repeat("x", 1025), &tx{tables: db}, fn, "id.Message must have at most 1024 bytes, not 1025"},
		"an id that is no text": {consumer, "a\xff", &tx{tables: db}, fn, "UTF-8"},
		"an id with a NUL":      {consumer, "a\x00", &tx{tables: db}, fn, "NUL"},
		"no consumer":           {"", "1", &tx{tables: db}, fn, "consumer must not be empty"},
		"no transaction":        {consumer, "1", nil, fn, "tx must not be nil"},
		"no function":           {consumer, "1", &tx{tables: db}, nil, "fn must not be nil"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inbox.Once(t.Context(), c.tx, c.consumer, inbox.ID{Message: c.id}, c.fn)
			if !errors.Is(err, store.ErrConfig) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			var verdict interface {
				HoldfastVerdict() (string, time.Duration)
			}
			if !errors.As(err, &verdict) {
				t.Error("no verdict")
			} else if kind, _ := verdict.HoldfastVerdict(); kind != "park" {
				t.Errorf("verdict %s: what never works is parked", kind)
			}
		})
	}
	if len(db.handled) != 0 {
		t.Errorf("recorded %v", db.handled)
	}
}

func TestOnce_a_database_that_is_down_runs_nothing(t *testing.T) {
	db, e := newTables(), &effect{}
	db.down = store.ErrUnreachable
	_, err := inbox.Once(t.Context(), &tx{tables: db}, consumer, inbox.ID{Message: "1"}, e.apply)
	if !errors.Is(err, store.ErrUnreachable) || !strings.Contains(err.Error(), "billing: recording 1") || e.applied != 0 {
		t.Errorf("got %v, applied %d", err, e.applied)
	}
}

func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		header any
		want   string
	}{
		"no replay":             {nil, ""},
		"a replay":              {"abc", "abc"},
		"a replay as bytes":     {[]byte("abc"), "abc"},
		"a forged number":       {7, ""},
		"forged, with a NUL":    {"a\x00", ""},
		"forged, and very long": {strings.Repeat("x", 300), ""},
	} {
		m := &holdfast.Message{ID: "1", Headers: map[string]any{broker.HeaderReplayID: c.header}}
		if got := inbox.Of(m); got != (inbox.ID{Message: "1", Replay: c.want}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
