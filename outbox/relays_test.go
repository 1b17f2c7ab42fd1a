package outbox

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/store"
)

// cutStore is a store that can be cut off from one relay, as by a network or
// by a process that does not run.
type cutStore struct {
	*memStore
	cut atomic.Bool
}

func (s *cutStore) err() error {
	if s.cut.Load() {
		return store.ErrUnreachable
	}
	return nil
}

func (s *cutStore) Beat(ctx context.Context, self store.Relay) (store.Standing, error) {
	if err := s.err(); err != nil {
		return store.Standing{}, err
	}
	return s.memStore.Beat(ctx, self)
}

func (s *cutStore) Take(ctx context.Context, relay string, seen []store.Lease) ([]store.Lease, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.memStore.Take(ctx, relay, seen)
}

func (s *cutStore) Due(ctx context.Context, c []store.Claim) ([]int, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.memStore.Due(ctx, c)
}

func (s *cutStore) Claim(ctx context.Context, c store.Claim) ([]store.Row, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.memStore.Claim(ctx, c)
}

func (s *cutStore) Record(ctx context.Context, c store.Claim, o []store.Outcome) ([]string, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.memStore.Record(ctx, c, o)
}

func (s *cutStore) Yield(ctx context.Context, relay string, held []store.Lease, gone bool) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.memStore.Yield(ctx, relay, held, gone)
}

// beside is another relay on the same rows.
func (b *bench) beside(t *testing.T) *bench {
	return &bench{T: t, rows: b.rows, broker: b.broker}
}

func using(s store.Outbox) func(*RelayConfig) {
	return func(c *RelayConfig) { c.Outbox = s }
}

var relaysTests = map[string]func(*bench){
	"share_the_lanes_and_keep_order": func(a *bench) {
		a.broker.hang = func(sent) bool { time.Sleep(20 * time.Millisecond); return false }
		keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for _, key := range keys {
			a.add("orders", key, 300)
		}
		a.start()
		after(time.Second)
		b, c := a.beside(a.T), a.beside(a.T)
		b.start()
		c.start()
		after(5 * time.Second)
		for id, n := range a.rows.holders() {
			if n > 22 {
				a.Errorf("relay %q holds %d lanes", id, n)
			}
		}
		b.end()
		after(time.Minute)
		a.wantStates(map[string]int{"orders published": 2400})
		for _, key := range keys {
			if !slices.Equal(a.broker.bodies("key."+key), numbers(300)) {
				a.Errorf("the order of %s is not kept", key)
			}
		}
		a.end()
		c.end()
	},
	"take_over_from_a_dead_one_within_lease_and_5_s": func(a *bench) {
		cut := &cutStore{memStore: a.rows}
		a.start(using(cut))
		b := a.beside(a.T)
		b.start()
		after(10 * time.Second)
		cut.cut.Store(true)
		start := time.Now()
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			a.add("orders", key, 10)
		}
		for a.rows.states()["orders published"] < 80 && time.Since(start) < time.Minute {
			after(100 * time.Millisecond)
		}
		if d := time.Since(start); d > DefaultRelayLease+5*time.Second {
			a.Errorf("all rows were published after %v", d)
		}
		if n := a.rows.holders()[b.relay.Status().ID]; n != store.Lanes {
			a.Errorf("%d lanes are the survivor's, want all", n)
		}
		after(2 * time.Second)
		if n := a.rows.remembered(); n != 1 {
			a.Errorf("%d relays are remembered, want 1", n)
		}
		cut.cut.Store(false)
		after(time.Minute)
		if x, y := a.relay.Status().Lanes, b.relay.Status().Lanes; x != 32 || y != 32 {
			a.Errorf("%d and %d lanes, want 32 each", x, y)
		}
		a.end()
		b.end()
	},
	"one_that_was_away_publishes_and_records_nothing_under_a_lost_lease": func(a *bench) {
		a.broker.hang = func(s sent) bool {
			if s.repeat == "" {
				time.Sleep(30 * time.Second) // longer than the lease
			}
			return false
		}
		a.add("orders", "a", 3)
		cut := &cutStore{memStore: a.rows}
		a.start(using(cut))
		after(time.Second)
		cut.cut.Store(true)
		b := a.beside(a.T)
		b.start()
		after(25 * time.Second)
		if n := len(b.broker.log()); n != 4 { // the first by both
			a.Errorf("%d publications by now, want 4", n)
		}
		after(time.Minute)
		cut.cut.Store(false)
		after(2 * time.Minute)
		a.wantStates(map[string]int{"orders published": 3})
		if got, want := a.broker.bodies("key.a"), []string{"0", "0", "1", "2"}; !slices.Equal(got, want) {
			a.Errorf("published %v, want %v", got, want)
		}
		if n := a.relay.Status().Books.Fenced; n != 3 {
			a.Errorf("%d outcomes were fenced, want 3: %+v", n, a.relay.Status().Books)
		}
		if n := b.relay.Status().Books.Repeats; n != 3 {
			a.Errorf("%d repeats, want the 3 that the other had claimed", n)
		}
		a.end()
		b.end()
	},
	"one_that_was_away_takes_its_lanes_anew": func(a *bench) {
		cut := &cutStore{memStore: a.rows}
		a.start(using(cut))
		after(time.Second)
		tokens := a.rows.token(0)
		cut.cut.Store(true)
		after(20 * time.Second)
		cut.cut.Store(false)
		a.add("orders", "a", 3)
		after(5 * time.Second)
		a.wantStates(map[string]int{"orders published": 3})
		if a.count(RelayLapsed) != 1 || a.rows.token(0) == tokens {
			a.Errorf("the lanes were not taken anew: %d events, token %d", a.count(RelayLapsed), a.rows.token(0))
		}
		a.end()
	},
	"with_different_settings_say_so_and_keep_to_the_more_careful_ones": func(a *bench) {
		a.start(func(c *RelayConfig) {
			c.Lease = 30 * time.Second
			c.Routes = map[string]Route{"money": {Unknown: LeaveForHuman}}
		})
		b := a.beside(a.T)
		b.start()
		after(5 * time.Second)
		if a.count(RelayDiffers) != 1 || b.count(RelayDiffers) != 1 {
			a.Errorf("%d and %d events, want one each", a.count(RelayDiffers), b.count(RelayDiffers))
		}
		a.broker.script(func() { a.broker.answer = func(sent) error { return broker.ErrUnknown } })
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			a.add("money", key, 1)
		}
		after(time.Minute)
		a.wantStates(map[string]int{"money publishing unknown": 8})
		if n := len(a.broker.log()); n != 8 {
			a.Errorf("%d publications, want 8", n)
		}
		a.end()
		b.end()
	},
}

func TestRelays(t *testing.T) {
	for name, test := range relaysTests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(newBench(t)) })
		})
	}
}

// TestRelay_beside_a_longer_lease is the one way in which a lease that differs
// could end too early.
func TestRelay_beside_a_longer_lease(t *testing.T) {
	r := newRoster("self", settings{Lease: time.Second, Default: Republish})
	other := settings{Lease: time.Minute, Default: Republish}
	standing := store.Standing{
		Relays: []store.Relay{{ID: "other", Beat: 1, Settings: other.String()}, {ID: "strange", Beat: 1, Settings: "?"}},
		Leases: []store.Lease{{Lane: 1, Relay: "vanished", Token: 1}},
	}
	r.saw(standing, 0)
	r.saw(standing, 59*time.Second)
	for id, want := range map[string]bool{"other": false, "strange": false, "vanished": true, "self": false, "unheard": false} {
		if got := r.dead(id, 59*time.Second); got != want {
			t.Errorf("after 59 s %s is dead: %v, want %v", id, got, want)
		}
	}
	if !r.dead("other", time.Minute) || !r.dead("strange", maxRelayLease) {
		t.Error("nobody dies")
	}
}

// TestRelay_forgotten_comes_back is of a relay that was frozen in its first second
// and woke between its removal and the next look of who removed it: it begins
// again with the beat that it died with.
func TestRelay_forgotten_comes_back(t *testing.T) {
	mine := settings{Lease: time.Second, Default: Republish}
	r := newRoster("self", mine)
	standing := store.Standing{Relays: []store.Relay{{ID: "frozen", Beat: 1, Settings: mine.String()}}}
	r.saw(standing, 0)
	r.saw(standing, 2*time.Second)
	ids := r.forgettable(standing, 2*time.Second)
	if !slices.Equal(ids, []string{"frozen"}) {
		t.Fatalf("%v are to be forgotten", ids)
	}
	r.forget(ids)
	r.saw(standing, 2500*time.Millisecond)
	if r.dead("frozen", 3*time.Second) {
		t.Error("who beats again is held for dead")
	}
}
