package inbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/inbox"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/store"
)

const consumer = "billing"

// handle applies a message once, as a handler does. before is called when it is
// applied and not committed; it may be nil.
func (s *service) handle(ctx context.Context, id inbox.ID, before func() error) (r inbox.Result, err error) {
	err = s.in(ctx, func(tx transaction) (err error) {
		r, err = inbox.Once(ctx, tx, consumer, id, func(ctx context.Context) error {
			if err := tx.apply(ctx, id.Message); err != nil {
				return err
			}
			if before != nil {
				return before()
			}
			return nil
		})
		return err
	})
	return r, err
}

func TestOnce_effect_and_record_share_their_fate(t *testing.T) {
	each(t, func(t *testing.T, _ address, s *service) {
		ctx, id, down := t.Context(), inbox.ID{Message: "1", Replay: "r-1"}, errors.New("the bank is down")
		if _, err := s.handle(ctx, id, func() error { return down }); !errors.Is(err, down) {
			t.Fatalf("got %v", err)
		}
		s.same(t)
		if r, err := s.handle(ctx, id, nil); err != nil || r.Outcome != inbox.Applied {
			t.Fatalf("redelivered after a rollback: %+v, %v", r, err)
		}
		for i := range 2 {
			r, err := s.handle(ctx, inbox.ID{Message: "1"}, nil)
			if err != nil || r.Outcome != inbox.Duplicate || r.Earlier.Duplicates != i+1 || r.Earlier.Replay != "r-1" {
				t.Errorf("redelivered after a commit: %+v, %v", r, err)
			}
		}
		s.same(t, "1")
	})
}

func TestOnce_two_deliveries_at_once(t *testing.T) {
	for name, fate := range map[string]error{"the first commits": nil, "the first rolls back": errors.New("no")} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, _ address, s *service) {
				inside, coming, results := make(chan struct{}), make(chan struct{}), make(chan error, 1)
				go func() {
					_, err := s.handle(context.WithoutCancel(t.Context()), inbox.ID{Message: "1"}, func() error {
						close(inside)
						<-coming
						return fate
					})
					results <- err
				}()
				<-inside
				close(coming)
				r, err := s.handle(t.Context(), inbox.ID{Message: "1"}, nil)
				want := inbox.Duplicate
				if fate != nil {
					want = inbox.Applied
				}
				if err != nil || r.Outcome != want {
					t.Errorf("the second: %+v, %v", r, err)
				}
				if err := <-results; !errors.Is(err, fate) {
					t.Errorf("the first: %v", err)
				}
				s.same(t, "1")
			})
		})
	}
}

func TestAfter_with_a_database(t *testing.T) {
	each(t, func(t *testing.T, _ address, s *service) {
		ctx := t.Context()
		apply := func(ctx context.Context) error {
			return s.in(ctx, func(tx transaction) error { return tx.apply(ctx, "1") })
		}
		var wg sync.WaitGroup
		outcomes := make(chan inbox.Outcome, 4)
		for range cap(outcomes) {
			wg.Go(func() {
				r, err := inbox.After(ctx, s, consumer, inbox.ID{Message: "1"}, apply)
				if err != nil {
					t.Error(err)
				}
				outcomes <- r.Outcome
			})
		}
		wg.Wait()
		close(outcomes)
		count := map[inbox.Outcome]int{}
		for o := range outcomes {
			count[o]++
		}
		if count[inbox.Applied] != 1 || count[inbox.Duplicate] != 3 {
			t.Errorf("outcomes %v", count)
		}
		s.same(t, "1")
		if h, err := s.Handled(ctx, consumer, "1"); err != nil || h.Duplicates != 3 {
			t.Errorf("%+v, %v", h, err)
		}
	})
}

func TestGuards_hold_with_many_at_once(t *testing.T) {
	each(t, func(t *testing.T, _ address, s *service) {
		ctx, base := t.Context(), time.Now()
		const events = 40
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				for _, i := range rand.New(rand.NewPCG(1, uint64(worker))).Perm(events) {
					err := s.in(ctx, func(tx transaction) error {
						order, err := inbox.Latest(ctx, tx, consumer, "deal", base.Add(time.Duration(i)*time.Microsecond))
						if err == nil && order == inbox.InOrder {
							err = tx.apply(ctx, fmt.Sprint(i))
						}
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		mark, err := s.Mark(ctx, consumer, "deal")
		applied := s.effects(t)
		newest := base.UTC().Truncate(time.Microsecond).Add((events - 1) * time.Microsecond)
		if err != nil || mark.Stale+len(applied) != 4*events || !mark.Time.Equal(newest) {
			t.Errorf("mark %+v of %v, %d applied, %v", mark, newest, len(applied), err)
		}
		for id, times := range applied {
			if times != 1 {
				t.Errorf("%s was applied %d times", id, times)
			}
		}
	})
}

func TestSequence_a_gap_is_set_aside_and_heals(t *testing.T) {
	each(t, func(t *testing.T, _ address, s *service) {
		ctx := t.Context()
		handle := func(m *holdfast.Message, n int64) error {
			return s.in(ctx, func(tx transaction) error {
				order, err := inbox.Sequence(ctx, tx, consumer, "order-7", n)
				switch {
				case err != nil || order == inbox.Stale:
					return err
				case order == inbox.Gap:
					return inbox.SetAside(ctx, tx, consumer, m, "gap", "")
				}
				_, err = inbox.Once(ctx, tx, consumer, inbox.Of(m), func(ctx context.Context) error { return tx.apply(ctx, m.ID) })
				return err
			})
		}
		event := func(id string) *holdfast.Message {
			return &holdfast.Message{ID: id, Body: []byte(id), Origin: holdfast.Origin{Queue: "orders"}}
		}
		for i, id := range []string{"e1", "e3", "e3", "e2"} {
			if err := handle(event(id), []int64{1, 3, 3, 2}[i]); err != nil {
				t.Fatal(err)
			}
		}
		s.same(t, "e1", "e2")
		rows, err := s.Asides(ctx, store.AsideFilter{Consumer: consumer, Reason: "gap"})
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		var again *holdfast.Message
		moved, err := s.Redrive(ctx, rows[0].ID, func(a store.Aside) error {
			again, err = inbox.Restore(a)
			return err
		})
		if err != nil || !moved || string(again.Body) != "e3" {
			t.Fatalf("redriven %v, %v, %+v", moved, err, again)
		}
		if err := handle(again, 3); err != nil {
			t.Fatal(err)
		}
		s.same(t, "e1", "e2", "e3")
		if mark, err := s.Mark(ctx, consumer, "order-7"); err != nil || mark.Sequence != 3 || mark.Gaps != 2 {
			t.Errorf("mark %+v, %v", mark, err)
		}
	})
}

func TestSetAside_inside_Once_runs_when_given_back(t *testing.T) {
	each(t, func(t *testing.T, _ address, s *service) {
		ctx, final := t.Context(), false
		m := &holdfast.Message{ID: "m-1", Body: []byte{0, 0xff}, Headers: map[string]any{"n": int32(7)}, ContentEncoding: "gzip"}
		id := inbox.ID{Message: "of the body"}
		handle := func(m *holdfast.Message) (r inbox.Result) {
			err := s.in(ctx, func(tx transaction) (err error) {
				r, err = inbox.Once(ctx, tx, consumer, id, func(ctx context.Context) error {
					if !final {
						return inbox.SetAside(ctx, tx, consumer, m, "invalid_state", "not final")
					}
					return tx.apply(ctx, m.ID)
				})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := handle(m); r.Outcome != inbox.Aside {
			t.Fatalf("%+v", r)
		}
		rows, err := s.Asides(ctx, store.AsideFilter{})
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		row, err := s.Aside(ctx, rows[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		again, err := inbox.Restore(row)
		if err != nil || string(again.Body) != "\x00\xff" || again.Headers["n"] != int32(7) || again.ContentEncoding != "gzip" {
			t.Fatalf("%+v, %v", again, err)
		}
		final = true
		if r := handle(again); r.Outcome != inbox.Applied {
			t.Errorf("given back: %+v", r)
		}
		if r := handle(again); r.Outcome != inbox.Duplicate {
			t.Errorf("and again: %+v", r)
		}
		s.same(t, "m-1")
	})
}

func TestPrune_keeps_records_while_something_older_is_parked(t *testing.T) {
	each(t, func(t *testing.T, _ address, s *service) {
		ctx := t.Context()
		for _, id := range []string{"1", "2"} {
			if _, err := s.handle(ctx, inbox.ID{Message: id}, nil); err != nil {
				t.Fatal(err)
			}
		}
		prune := func(parkedAt time.Time, found bool) int {
			n, err := inbox.Prune(ctx, s, consumer, inbox.Retention{
				Keep:         inbox.MinKeep,
				OldestParked: func(context.Context) (time.Time, bool, error) { return parkedAt, found, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		removed := 0
		testenv.Eventually(t, patience, "the records are old enough to go", func() bool {
			if n := prune(time.Now().Add(-time.Hour), true); n != 0 {
				t.Fatalf("%d removed, with something older parked", n)
			}
			removed += prune(time.Time{}, false)
			return removed == 2
		})
		if _, err := s.Handled(ctx, consumer, "1"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("got %v", err)
		}
	})
}
