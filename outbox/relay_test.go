package outbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/store"
)

// bench is a relay with what it works on, in a bubble of synctest.
type bench struct {
	*testing.T
	rows   *memStore
	broker *fakeBroker
	relay  *Relay
	ctx    context.Context
	stop   context.CancelFunc
	ended  chan error

	mu     sync.Mutex
	events []RelayEvent
}

func newBench(t *testing.T) *bench {
	return &bench{T: t, rows: newMemStore(), broker: newFakeBroker()}
}

func (b *bench) config() RelayConfig {
	return RelayConfig{
		Outbox: b.rows, Broker: b.broker, Name: "relay", Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Observe: func(e RelayEvent) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.events = append(b.events, e)
		},
	}
}

func (b *bench) start(change ...func(*RelayConfig)) {
	cfg := b.config()
	for _, c := range change {
		c(&cfg)
	}
	r, err := NewRelay(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.relay = r
	b.ctx, b.stop = context.WithCancel(context.Background())
	b.ended = make(chan error, 1)
	ended, ctx := b.ended, b.ctx
	go func() { ended <- r.Run(ctx) }()
}

func (b *bench) end() {
	b.Helper()
	b.stop()
	if err := <-b.ended; err != nil {
		b.Errorf("Run returned %v", err)
	}
	n := b.relay.Status().Books
	if n.InFlight != 0 {
		b.Errorf("rows are in flight after the end: %+v", n)
	}
}

// add writes rows to destination with the given ordering key.
func (b *bench) add(destination, ordering string, n int) {
	b.Helper()
	for i := range n {
		m := Message{Destination: destination, Key: "key." + ordering, OrderingKey: ordering, Payload: []byte(strconv.Itoa(i))}
		if err := Add(b.ctx0(), b.rows, m); err != nil {
			b.Fatal(err)
		}
	}
}

func (b *bench) ctx0() context.Context { return context.Background() }

func (b *bench) count(kind RelayEventKind) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// after lets d of the bubble's time pass and what is then to be done be done.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (b *bench) wantStates(want map[string]int) {
	b.Helper()
	if got := b.rows.states(); fmt.Sprint(got) != fmt.Sprint(want) {
		b.Errorf("rows are %v, want %v", got, want)
	}
}

func numbers(n int) (texts []string) {
	for i := range n {
		texts = append(texts, strconv.Itoa(i))
	}
	return texts
}

var relayTests = map[string]func(*bench){
	"publishes_in_order_per_key": func(b *bench) {
		for _, key := range []string{"a", "b", "c"} {
			b.add("orders", key, 700)
		}
		b.add("orders", "", 1000)
		b.start()
		after(20 * time.Second)
		b.wantStates(map[string]int{"orders published": 3100})
		for _, key := range []string{"a", "b", "c"} {
			if !slices.Equal(b.broker.bodies("key."+key), numbers(700)) {
				b.Errorf("the order of %s is not kept", key)
			}
		}
		b.end()
	},
	"publishes_what_comes_later": func(b *bench) {
		b.start()
		after(time.Minute)
		if s := b.relay.Status(); s.State != RelayIdle {
			b.Errorf("state is %s, want idle", s.State)
		}
		b.add("orders", "a", 3)
		after(100 * time.Millisecond)
		b.wantStates(map[string]int{"orders published": 3})
		b.end()
	},
	"goes_back_with_those_behind_after_an_unknown_outcome_and_marks_the_repetition": func(b *bench) {
		b.add("orders", "a", 5)
		b.start()
		once := true
		b.broker.script(func() {
			b.broker.answer = func(s sent) error {
				if s.body == "2" && once {
					once = false
					return broker.ErrUnknown
				}
				return nil
			}
		})
		after(5 * time.Second)
		b.wantStates(map[string]int{"orders published": 5})
		if got, want := b.broker.bodies("key.a"), []string{"0", "1", "2", "2", "3", "4"}; !slices.Equal(got, want) {
			b.Errorf("published %v, want %v", got, want)
		}
		for i, s := range b.broker.log() {
			if marked := s.repeat == "1"; marked != (i == 3) {
				b.Errorf("publication %d has the mark %q", i, s.repeat)
			}
		}
		b.end()
	},
	"leaves_an_unknown_outcome_for_a_human_and_lets_those_behind_go": func(b *bench) {
		b.add("orders", "a", 3)
		b.broker.answer = func(s sent) error {
			if s.body == "1" {
				return broker.ErrUnknown
			}
			return nil
		}
		b.start(func(c *RelayConfig) { c.Default.Unknown = LeaveForHuman })
		after(time.Minute)
		b.wantStates(map[string]int{"orders published": 2, "orders publishing unknown": 1})
		if n := len(b.broker.log()); n != 3 {
			b.Errorf("%d publications, want 3", n)
		}
		if b.count(RelayLeft) != 1 {
			b.Errorf("%d events of rows that were left, want 1", b.count(RelayLeft))
		}
		b.end()
	},
	"fails_only_the_row_that_no_queue_takes": func(b *bench) {
		b.add("orders", "a", 5)
		b.broker.answer = func(s sent) error {
			if s.body == "2" {
				return fmt.Errorf("nobody is bound: %w", broker.ErrUnrouted)
			}
			return nil
		}
		b.start()
		after(5 * time.Second)
		b.wantStates(map[string]int{"orders published": 4, "orders failed unrouted": 1})
		if r := b.rows.row(2); r.Error != "nobody is bound: broker: no queue took the message" {
			b.Errorf("the row's error is %q", r.Error)
		}
		b.end()
	},
	"a_destination_that_fails_everything_stops_no_other": func(b *bench) {
		b.add("bad", "", 200)
		b.add("good", "", 100)
		b.broker.answer = func(s sent) error {
			if s.destination == "bad" {
				return broker.ErrUnrouted
			}
			return nil
		}
		b.start()
		after(time.Second)
		if n := b.rows.states()["good published"]; n != 100 {
			b.Errorf("%d good rows are published, want 100", n)
		}
		if b.count(RelayTripped) == 0 {
			b.Error("no event of the breaker")
		}
		after(10 * time.Minute)
		b.wantStates(map[string]int{"good published": 100, "bad failed unrouted": 200})
		b.end()
	},
	"does_not_claim_what_it_may_not_write": func(b *bench) {
		b.add("foreign", "", 10)
		b.add("own", "", 10)
		b.broker.open = func(d string) error {
			if d == "foreign" {
				return broker.ErrPermission
			}
			return nil
		}
		b.start()
		after(time.Minute)
		b.wantStates(map[string]int{"foreign pending": 10, "own published": 10})
		if b.relay.Status().Books.Claimed != 10 {
			b.Errorf("claimed %d rows, want 10", b.relay.Status().Books.Claimed)
		}
		if b.count(RelayForbidden) != 1 {
			b.Errorf("%d events, want 1", b.count(RelayForbidden))
		}
		b.broker.script(func() { b.broker.open = nil })
		after(time.Minute)
		b.wantStates(map[string]int{"foreign published": 10, "own published": 10})
		b.end()
	},
	"rows_wait_for_a_missing_destination_and_flush_in_order": func(b *bench) {
		b.broker.open = func(string) error { return broker.ErrMissing }
		b.start()
		after(time.Second)
		b.add("later", "a", 10)
		after(10 * time.Second)
		b.wantStates(map[string]int{"later pending missing": 1, "later pending": 9})
		b.broker.script(func() { b.broker.open = nil })
		after(time.Minute)
		b.wantStates(map[string]int{"later published": 10})
		if !slices.Equal(b.broker.bodies("key.a"), numbers(10)) {
			b.Error("the order is not kept")
		}
		b.end()
	},
	"an_answer_of_404_fails_its_row": func(b *bench) {
		b.add("gone", "", 1)
		b.broker.answer = func(sent) error { return broker.ErrMissing }
		b.start()
		after(time.Second)
		b.wantStates(map[string]int{"gone failed missing": 1})
		b.end()
	},
	"a_broker_that_is_down_at_the_start_is_retried_for_ever": func(b *bench) {
		b.add("orders", "a", 10)
		b.broker.open = func(string) error { return broker.ErrUnreachable }
		b.start()
		after(2 * time.Hour)
		b.wantStates(map[string]int{"orders pending": 10})
		if n := b.broker.opened["orders"]; n > 1000 || n < 200 {
			b.Errorf("%d tries in 2 hours", n)
		}
		b.broker.script(func() { b.broker.open = nil })
		after(time.Minute)
		b.wantStates(map[string]int{"orders published": 10})
		b.end()
	},
	"an_outage_loses_nothing_and_spends_nothing": func(b *bench) {
		b.start()
		b.add("orders", "a", 50)
		after(time.Second)
		b.broker.script(func() { b.broker.open = func(string) error { return broker.ErrUnreachable } })
		b.broker.cut(broker.ErrUnreachable)
		b.add("orders", "a", 50)
		after(10 * time.Minute)
		b.wantStates(map[string]int{"orders published": 50, "orders pending": 50})
		b.broker.script(func() { b.broker.open = nil })
		after(time.Minute)
		b.wantStates(map[string]int{"orders published": 100})
		if r := b.rows.row(60); r.Refusals != 0 || r.Unknowns != 0 {
			b.Errorf("the outage was charged: %+v", r)
		}
		b.end()
	},
	"a_refused_row_is_tried_again_and_fails_after_its_budget": func(b *bench) {
		b.add("full", "a", 2)
		b.broker.answer = func(s sent) error {
			if s.body == "0" {
				return broker.ErrRefused
			}
			return nil
		}
		b.start(func(c *RelayConfig) { c.Default.Refusals = 4 })
		after(time.Minute)
		b.wantStates(map[string]int{"full failed refused": 1, "full published": 1})
		if got, want := b.broker.bodies("key.a"), []string{"0", "0", "0", "0", "1"}; !slices.Equal(got, want) {
			b.Errorf("published %v, want %v", got, want)
		}
		b.end()
	},
	"a_block_is_told_and_nothing_is_claimed_meanwhile": func(b *bench) {
		b.start()
		b.add("orders", "", 1)
		after(time.Second)
		b.broker.notifyAll(broker.Notice{Kind: broker.NoticeBlocked, Text: "low on memory"})
		b.add("orders", "", 10)
		after(time.Minute)
		s := b.relay.Status()
		if s.State != RelayHeldUp || s.Err == nil || s.Err.Error() != "low on memory" || s.Lanes != store.Lanes {
			b.Errorf("status is %+v", s)
		}
		b.wantStates(map[string]int{"orders published": 1, "orders pending": 10})
		b.broker.notifyAll(broker.Notice{Kind: broker.NoticeUnblocked})
		after(time.Second)
		b.wantStates(map[string]int{"orders published": 11})
		b.end()
	},
	"a_block_gives_back_what_is_not_under_way": func(b *bench) {
		b.broker.hang = func(s sent) bool { return s.body == "2" }
		b.add("orders", "a", 10)
		b.add("orders", "", 10)
		b.start()
		after(time.Second)
		b.broker.notifyAll(broker.Notice{Kind: broker.NoticeBlocked, Text: "low on disk"})
		after(time.Second)
		b.wantStates(map[string]int{"orders published": 11, "orders publishing": 2, "orders pending": 7})
		b.broker.script(func() { b.broker.hang = nil })
		b.broker.cut(broker.ErrUnreachable)
		after(time.Minute)
		b.wantStates(map[string]int{"orders published": 20})
		if got, want := b.broker.bodies("key.a"), append([]string{"0", "1", "2"}, numbers(10)[2:]...); !slices.Equal(got, want) {
			b.Errorf("published %v, want %v", got, want)
		}
		b.end()
	},
	"a_dual_publication_repeats_only_what_is_missing": func(b *bench) {
		b.start()
		lost := true
		b.broker.script(func() {
			b.broker.answer = func(s sent) error {
				if s.key == "old" && lost {
					lost = false
					return broker.ErrUnknown
				}
				return nil
			}
		})
		err := Add(b.ctx0(), b.rows, Message{Destination: "orders", Key: "new", AlsoKeys: []string{"old"}})
		if err != nil {
			b.Fatal(err)
		}
		after(time.Second)
		b.wantStates(map[string]int{"orders published": 1})
		if n, o := len(b.broker.bodies("new")), len(b.broker.bodies("old")); n != 1 || o != 2 {
			b.Errorf("published %d times under the new key and %d under the old one, want 1 and 2", n, o)
		}
		b.end()
	},
	"a_database_outage_longer_than_the_lease_keeps_what_is_known": func(b *bench) {
		b.broker.hang = func(s sent) bool { time.Sleep(time.Second); return false }
		b.add("orders", "a", 1)
		b.start()
		after(500 * time.Millisecond)
		b.rows.breakDown(store.ErrUnreachable)
		after(10 * time.Minute)
		if s := b.relay.Status(); s.State != RelayDatabase {
			b.Errorf("state is %s", s.State)
		}
		b.rows.breakDown(nil)
		after(time.Minute)
		b.wantStates(map[string]int{"orders published": 1})
		if n := len(b.broker.log()); n != 1 {
			b.Errorf("published %d times, want once", n)
		}
		b.end()
	},
	"a_claim_without_an_answer_is_claimed_again": func(b *bench) {
		b.add("orders", "a", 3)
		b.rows.losing = true
		b.start()
		after(time.Second)
		b.rows.mu.Lock()
		b.rows.losing = false
		b.rows.mu.Unlock()
		after(time.Minute)
		b.wantStates(map[string]int{"orders published": 3})
		b.end()
	},
	"gives_its_lanes_back_at_once_and_records_what_was_under_way": func(b *bench) {
		b.broker.hang = func(s sent) bool { time.Sleep(3 * time.Second); return false }
		b.add("orders", "a", 3)
		b.start()
		after(time.Second)
		b.stop()
		after(100 * time.Millisecond)
		if n := b.rows.holders()[""]; n != store.Lanes-1 {
			b.Errorf("%d lanes are free while one is being finished, want %d", n, store.Lanes-1)
		}
		b.end()
		b.wantStates(map[string]int{"orders published": 1, "orders pending": 2})
		if b.rows.remembered() != 0 || b.rows.holders()[""] != store.Lanes {
			b.Error("the relay has left something behind")
		}
	},
	"its_end_is_bounded_by_the_grace": func(b *bench) {
		b.broker.hang = func(sent) bool { return true }
		b.add("orders", "a", 3)
		b.start()
		after(time.Second)
		start := time.Now()
		b.end()
		if d := time.Since(start); d != DefaultRelayGrace {
			b.Errorf("the end took %v, want %v", d, DefaultRelayGrace)
		}
		b.wantStates(map[string]int{"orders pending unknown": 1, "orders pending": 2})
	},
	"a_schema_that_is_not_there_is_an_error": func(b *bench) {
		b.rows.check = store.ErrSchema
		b.start()
		if err := <-b.ended; !errors.Is(err, store.ErrSchema) {
			b.Errorf("Run returned %v", err)
		}
		b.stop()
	},
	"a_database_that_is_down_at_the_start_is_retried_for_ever": func(b *bench) {
		b.rows.down = store.ErrUnreachable
		b.start()
		after(time.Hour)
		b.rows.breakDown(nil)
		b.add("orders", "a", 3)
		after(time.Minute)
		b.wantStates(map[string]int{"orders published": 3})
		b.end()
	},
}

func TestRelay(t *testing.T) {
	for name, test := range relayTests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(newBench(t)) })
		})
	}
}
