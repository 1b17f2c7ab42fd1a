package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store"
)

// reaperRows is an outbox as a reaper sees it, on the bubble's clock. What a
// reaper does not use is not there.
type reaperRows struct {
	store.Outbox

	mu       sync.Mutex
	rows     []store.Row // oldest first
	relays   map[string]func() int64
	settings string
	looks    []int // limits of Stuck

	stuckErr error
	panics   bool
	hang     chan struct{} // Stuck does not return before it is closed, whatever ctx says
	fail     func(id string) (bool, error)
	failed   map[string]string
	timeouts []time.Duration
}

func (f *reaperRows) Stuck(ctx context.Context, age time.Duration, alive []string, limit int) ([]store.Row, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks = append(f.looks, limit)
	if f.hang != nil {
		hang := f.hang
		f.mu.Unlock()
		<-hang
		f.mu.Lock()
	}
	if f.panics {
		panic("out of order")
	}
	if f.stuckErr != nil {
		return nil, 0, f.stuckErr
	}
	var rows []store.Row
	for _, row := range f.rows {
		if time.Since(row.PublishingSince) > age && !slices.Contains(alive, row.Relay) && len(rows) < limit {
			rows = append(rows, row)
		}
	}
	return rows, len(f.rows), ctx.Err()
}

func (f *reaperRows) Fail(
	_ context.Context, id string, token int64, class store.Class, text string, timeout time.Duration,
) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.timeouts = append(f.timeouts, timeout)
	if f.fail != nil {
		if moved, err := f.fail(id); !moved || err != nil {
			return moved, err
		}
	}
	if token != 7 || class != store.ClassUnknown {
		return false, fmt.Errorf("token %d, class %q", token, class)
	}
	f.rows = slices.DeleteFunc(f.rows, func(row store.Row) bool { return row.ID == id })
	f.failed[id] = text
	return true, nil
}

func (f *reaperRows) Status(context.Context) (store.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var s store.Status
	for id, beat := range f.relays {
		s.Relays = append(s.Relays, store.Relay{ID: id, Beat: beat(), Settings: f.settings})
	}
	return s, nil
}

func newReaperRows() *reaperRows {
	return &reaperRows{failed: map[string]string{}, relays: map[string]func() int64{}, settings: `{"Lease": 15000000000, "Default": "republish"}`}
}

// failures are the texts of the rows that were failed.
func (f *reaperRows) failures() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.failed)
}

func (f *reaperRows) questions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.looks)
}

// change makes a change while a reaper runs.
func (f *reaperRows) change(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// add puts a row there that was claimed so long ago, by relay gone.
func (f *reaperRows) add(id, destination string, age time.Duration) {
	f.rows = append(f.rows, store.Row{
		Entry: store.Entry{ID: id, Destination: destination, Type: "order.created"},
		State: store.Publishing, PublishingSince: time.Now().Add(-age), Relay: "gone", Token: 7,
	})
}

// reaperRun is a reaper at work in a bubble.
type reaperRun struct {
	*outbox.Reaper
	mu     sync.Mutex
	events []outbox.ReaperEvent
	stop   func()
}

func startReaper(t *testing.T, rows *reaperRows, change func(*outbox.ReaperConfig)) *reaperRun {
	t.Helper()
	run := &reaperRun{}
	cfg := outbox.ReaperConfig{Outbox: rows, Default: outbox.Route{Unknown: outbox.LeaveForHuman}, Logger: slog.New(slog.DiscardHandler), Observe: func(e outbox.ReaperEvent) {
		run.mu.Lock()
		defer run.mu.Unlock()
		run.events = append(run.events, e)
	}}
	if change != nil {
		change(&cfg)
	}
	var err error
	if run.Reaper, err = outbox.NewReaper(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- run.Run(ctx) }()
	run.stop = func() {
		cancel()
		if err := <-over; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	return run
}

func (r *reaperRun) of(kind outbox.ReaperEventKind) []outbox.ReaperEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.events), func(e outbox.ReaperEvent) bool { return e.Kind != kind })
}

// firstScan is long enough for the first scan with its look at the relays, and
// much shorter than the interval.
const firstScan = outbox.DefaultReaperFirstScan + outbox.DefaultReaperLease + time.Second

func TestReaper_looks_soon_after_its_start(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newReaperRows()
		run := startReaper(t, rows, nil)
		defer run.stop()
		time.Sleep(outbox.DefaultReaperFirstScan - time.Millisecond)
		synctest.Wait()
		if rows.questions() != 0 {
			t.Error("it looked before its first scan")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if rows.questions() != 1 {
			t.Error("it did not look")
		}
	})
}

func TestReaper_fails_what_is_overdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newReaperRows()
		rows.add("old", "shop", 5*time.Hour)
		rows.add("young", "shop", time.Hour)
		run := startReaper(t, rows, nil)
		defer run.stop()
		time.Sleep(firstScan)
		synctest.Wait()
		text := rows.failures()["old"]
		for _, want := range []string{"may or may not have been delivered", "a person must decide", "longer than 4h0m0s", "publishing since 19"} {
			if !strings.Contains(text, want) {
				t.Errorf("the text %q does not say %q", text, want)
			}
		}
		if len(rows.failures()) != 1 || rows.timeouts[0] != outbox.DefaultReaperTimeout {
			t.Errorf("failed %v, timeouts %v", rows.failures(), rows.timeouts)
		}
		if flips := run.of(outbox.ReaperFailed); len(flips) != 1 || flips[0].ID != "old" || flips[0].Destination != "shop" {
			t.Errorf("flips %+v", flips)
		}
	})
}

func TestReaper_warns_of_what_is_not_overdue_yet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newReaperRows()
		for i := range 7 {
			rows.add(fmt.Sprint("young", i), "shop", time.Hour)
		}
		rows.add("fresh", "shop", time.Minute)
		run := startReaper(t, rows, nil)
		defer run.stop()
		time.Sleep(firstScan)
		synctest.Wait()
		warnings := run.of(outbox.ReaperStuck)
		if len(warnings) != 1 || warnings[0].Count != 7 || warnings[0].Backlog != 8 || len(warnings[0].Sample) != 5 {
			t.Errorf("warnings %+v", warnings)
		}
		s := run.Status()
		s.ScanAt, s.ScanFor, s.Oldest = time.Time{}, 0, time.Time{}
		if s != (outbox.ReaperStatus{Scans: 1, Backlog: 8, Stuck: 7}) {
			t.Errorf("status %+v", s)
		}
	})
}

func TestReaper_keeps_what_a_relay_recorded_in_its_text(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newReaperRows()
		rows.add("left", "shop", 5*time.Hour)
		rows.rows[0].Class, rows.rows[0].Error, rows.rows[0].ErrorAt = store.ClassUnknown, "no confirm within 30s", time.Now()
		run := startReaper(t, rows, nil)
		defer run.stop()
		time.Sleep(firstScan)
		synctest.Wait()
		if text := rows.failures()["left"]; !strings.Contains(text, "no confirm within 30s. It may or may not") {
			t.Errorf("text %q", text)
		}
	})
}

func TestReaper_leaves_a_live_relays_rows_alone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newReaperRows()
		rows.add("its", "shop", 5*time.Hour)
		rows.rows[0].Relay = "alive"
		rows.add("dead", "shop", 5*time.Hour)
		start := time.Now()
		rows.relays["alive"] = func() int64 { return int64(time.Since(start) / (10 * time.Second)) }
		rows.relays["gone"] = func() int64 { return 99 }
		run := startReaper(t, rows, nil)
		defer run.stop()
		time.Sleep(firstScan)
		synctest.Wait()
		if _, ok := rows.failures()["its"]; ok || len(rows.failures()) != 1 {
			t.Errorf("failed %v", rows.failures())
		}
		if s := run.Status(); s.Relays != 1 || s.Backlog != 1 || s.Stuck != 0 {
			t.Errorf("status %+v", s)
		}
	})
}

func routes(destination string, rule outbox.UnknownRule) map[string]outbox.Route {
	return map[string]outbox.Route{destination: {Unknown: rule}}
}

func TestReaper_never_fails_what_is_published_again(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*outbox.ReaperConfig)
	}{
		{"by default", func(c *outbox.ReaperConfig) {
			c.Default, c.Routes = outbox.Route{}, routes("bank", outbox.LeaveForHuman)
		}},
		{"as an exception", func(c *outbox.ReaperConfig) { c.Routes = routes("shop", outbox.Republish) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rows := newReaperRows()
				for i := range 350 {
					rows.add(fmt.Sprint("again", i), "shop", 6*time.Hour)
				}
				for i := range 120 {
					rows.add(fmt.Sprint("left", i), "bank", 5*time.Hour)
				}
				run := startReaper(t, rows, c.change)
				defer run.stop()
				time.Sleep(firstScan)
				synctest.Wait()
				if n := len(rows.failures()); n != outbox.DefaultReaperBatch || rows.failures()["left99"] == "" {
					t.Errorf("%d failed: it must look past the rows of the other destination, and fail one batch", n)
				}
				if n := run.of(outbox.ReaperNoRelay); len(n) != 1 || n[0].Count != 100 || n[0].Backlog != 370 {
					t.Errorf("events %+v", n)
				}
				beat := time.Now()
				rows.change(func() { rows.relays["new"] = func() int64 { return int64(time.Since(beat) / time.Second) } })
				time.Sleep(outbox.DefaultReaperInterval)
				synctest.Wait()
				if n := run.of(outbox.ReaperWaiting); len(n) != 1 {
					t.Errorf("with a relay: %+v", n)
				}
			})
		})
	}
}

func TestReaper_one_failing_flip_stops_no_other(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newReaperRows()
		for _, id := range []string{"broken", "raced", "good"} {
			rows.add(id, "shop", 5*time.Hour)
		}
		rows.fail = func(id string) (bool, error) {
			switch id {
			case "broken":
				return false, errors.New("canceling statement due to statement timeout")
			case "raced":
				return false, nil
			}
			return true, nil
		}
		run := startReaper(t, rows, nil)
		defer run.stop()
		time.Sleep(firstScan)
		synctest.Wait()
		s := run.Status()
		if s.Failed != 1 || s.LostRaces != 1 || s.FlipErrors != 1 || rows.failures()["good"] == "" {
			t.Errorf("status %+v, failed %v", s, rows.failures())
		}
		if e := run.of(outbox.ReaperFlipError); len(e) != 1 || e[0].ID != "broken" || e[0].Err == nil {
			t.Errorf("events %+v", e)
		}
		if e := run.of(outbox.ReaperLostRace); len(e) != 1 || e[0].ID != "raced" {
			t.Errorf("events %+v", e)
		}
	})
}

func TestReaper_fails_a_batch_at_a_time(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newReaperRows()
		for i := range 25 {
			rows.add(fmt.Sprint(i), "shop", 5*time.Hour)
		}
		run := startReaper(t, rows, func(c *outbox.ReaperConfig) { c.Batch = 10 })
		defer run.stop()
		for scan, want := range []int{10, 20, 25} {
			time.Sleep(firstScan)
			synctest.Wait()
			if len(rows.failures()) != want {
				t.Errorf("after scan %d %d rows are failed, want %d", scan+1, len(rows.failures()), want)
			}
			time.Sleep(outbox.DefaultReaperInterval - firstScan)
		}
	})
}

func TestReaper_goes_on_after_a_scan_that(t *testing.T) {
	for name, set := range map[string]func(*reaperRows, bool){
		"failed":   func(f *reaperRows, on bool) { f.stuckErr = map[bool]error{true: store.ErrUnreachable}[on] },
		"panicked": func(f *reaperRows, on bool) { f.panics = on },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rows := newReaperRows()
				rows.add("old", "shop", 5*time.Hour)
				set(rows, true)
				run := startReaper(t, rows, nil)
				defer run.stop()
				time.Sleep(firstScan)
				synctest.Wait()
				if s := run.Status(); s.ScanErrors != 1 || s.Error == "" || len(run.of(outbox.ReaperScanFailed)) != 1 {
					t.Errorf("status %+v", s)
				}
				rows.change(func() { set(rows, false) })
				time.Sleep(outbox.DefaultReaperInterval)
				synctest.Wait()
				if s := run.Status(); s.Scans != 1 || s.Error != "" || rows.failures()["old"] == "" {
					t.Errorf("status %+v", s)
				}
			})
		})
	}
}

func TestReaper_tells_of_a_scan_that_does_not_end(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newReaperRows()
		rows.hang = make(chan struct{})
		run := startReaper(t, rows, nil)
		defer run.stop()
		time.Sleep(outbox.DefaultReaperFirstScan + 2*outbox.DefaultReaperInterval + time.Second)
		synctest.Wait()
		if n := len(run.of(outbox.ReaperStalled)); n != 2 || rows.questions() != 1 || !run.Status().Scanning {
			t.Errorf("told %d times, %d scans: no second one piles up", n, rows.questions())
		}
		rows.change(func() {
			close(rows.hang)
			rows.hang = nil
		})
		time.Sleep(time.Second)
		synctest.Wait()
		if s := run.Status(); s.Scans != 1 || s.Scanning {
			t.Errorf("status %+v: one scan at once for those that were missed", s)
		}
		failed := run.of(outbox.ReaperScanFailed)
		if len(failed) != 1 || !strings.Contains(failed[0].Err.Error(), "13m30s, 90 % of the interval") {
			t.Errorf("events %+v", failed)
		}
		time.Sleep(outbox.DefaultReaperInterval)
		synctest.Wait()
		if s := run.Status(); s.Scans != 2 || s.Scanning {
			t.Errorf("status %+v: it must go on in step", s)
		}
	})
}

func TestReaper_waits_for_the_scan_in_flight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newReaperRows()
		rows.add("old", "shop", 5*time.Hour)
		rows.relays["gone"] = func() int64 { return 1 }
		run := startReaper(t, rows, nil)
		time.Sleep(outbox.DefaultReaperFirstScan + time.Second) // it looks at the relays
		run.stop()
		if s := run.Status(); s.Scanning || s.ScanErrors != 0 || s.Scans != 0 {
			t.Errorf("status %+v: a scan that was cut short by the end has not failed", s)
		}
	})
}

func TestReaper_asks_one_question_of_a_quiet_outbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newReaperRows()
		rows.add("fresh", "shop", time.Second)
		run := startReaper(t, rows, func(c *outbox.ReaperConfig) { c.Observe = func(outbox.ReaperEvent) { panic("listener") } })
		defer run.stop()
		time.Sleep(firstScan)
		synctest.Wait()
		if s := run.Status(); s.Scans != 1 || s.Backlog != 1 || rows.questions() != 1 {
			t.Errorf("status %+v, %d questions", s, rows.questions())
		}
	})
}

func TestNewReaper_refuses(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*outbox.ReaperConfig)
	}{
		{"Outbox must not be nil", func(c *outbox.ReaperConfig) { c.Outbox = nil }},
		{"Interval must be 1s to 24h0m0s, not -1s", func(c *outbox.ReaperConfig) { c.Interval = -time.Second }},
		{"Interval must be 1s to 24h0m0s, not 1ns", func(c *outbox.ReaperConfig) { c.Interval = 1 }},
		{"Interval must be at most FailAfter less WarnAfter (1h0m0s), not 2h0m0s", func(c *outbox.ReaperConfig) {
			c.Interval, c.WarnAfter, c.FailAfter = 2*time.Hour, time.Hour, 2*time.Hour
		}},
		{"FirstScan must be 1ms to 15m0s, not 1h0m0s", func(c *outbox.ReaperConfig) { c.FirstScan = time.Hour }},
		{"WarnAfter must be 1s to 168h0m0s, not -1s", func(c *outbox.ReaperConfig) { c.WarnAfter = -time.Second }},
		{"WarnAfter must be 1s to 168h0m0s, not 200h0m0s", func(c *outbox.ReaperConfig) { c.WarnAfter, c.FailAfter = 200*time.Hour, 300*time.Hour }},
		{"FailAfter must be more than WarnAfter (15m0s), up to 720h0m0s, not 15m0s", func(c *outbox.ReaperConfig) { c.FailAfter = 15 * time.Minute }},
		{"FailAfter must be more than WarnAfter (15m0s), up to 720h0m0s, not 1000h0m0s", func(c *outbox.ReaperConfig) { c.FailAfter = 1000 * time.Hour }},
		{"Batch must be 1 to 10000, not -1", func(c *outbox.ReaperConfig) { c.Batch = -1 }},
		{"Timeout must be 10ms to 7m30s, not 1h0m0s", func(c *outbox.ReaperConfig) { c.Timeout = time.Hour }},
		{`Default.Unknown must be "republish" or "leave", not "ask"`, func(c *outbox.ReaperConfig) { c.Default.Unknown = "ask" }},
		{`Routes["shop"].Unknown must be "republish" or "leave", not "ask"`, func(c *outbox.ReaperConfig) { c.Routes = routes("shop", "ask") }},
		{"Lease must be 100ms to 7m30s, not 1ms", func(c *outbox.ReaperConfig) { c.Lease = time.Millisecond }},
	} {
		cfg := outbox.ReaperConfig{Outbox: newReaperRows()}
		c.change(&cfg)
		_, err := outbox.NewReaper(cfg)
		if !errors.Is(err, store.ErrConfig) || !strings.Contains(fmt.Sprint(err), c.want) || strings.Contains(fmt.Sprint(err), "\n") {
			t.Errorf("got %v, want the one line %q", err, c.want)
		}
	}
	if _, err := outbox.NewReaper(outbox.ReaperConfig{Outbox: newReaperRows()}); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}

// What relays at work leave for a human, nobody publishes again.
func TestReaper_follows_a_relay_that_is_more_careful(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newReaperRows()
		rows.add("old", "shop", 5*time.Hour)
		start := time.Now()
		rows.relays["alive"] = func() int64 { return int64(time.Since(start) / (40 * time.Second)) }
		rows.settings = `{"Lease": 120000000000, "Default": "leave"}`
		run := startReaper(t, rows, func(c *outbox.ReaperConfig) { c.Default = outbox.Route{} })
		defer run.stop()
		time.Sleep(outbox.DefaultReaperFirstScan + 119*time.Second)
		synctest.Wait()
		if len(rows.failures()) != 0 {
			t.Error("it did not wait for as long as the relay's own lease")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(rows.failures()) != 1 || run.Status().Relays != 1 {
			t.Errorf("failed %v, status %+v", rows.failures(), run.Status())
		}
	})
}

func TestReaper_has_time_left_whatever_lease_a_relay_has(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newReaperRows()
		rows.add("old", "shop", 5*time.Hour)
		rows.relays["gone"] = func() int64 { return 1 }
		rows.settings = "of another version"
		run := startReaper(t, rows, nil)
		defer run.stop()
		time.Sleep(outbox.DefaultReaperFirstScan + outbox.DefaultReaperInterval/2 + time.Second)
		synctest.Wait()
		if len(rows.failures()) != 1 {
			t.Errorf("failed %v", rows.failures())
		}
	})
}

func TestReaper_logs_what_it_finds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		rows := newReaperRows()
		rows.add("old", "shop", 5*time.Hour)
		rows.add("young", "shop", time.Hour)
		run := startReaper(t, rows, func(c *outbox.ReaperConfig) {
			c.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		time.Sleep(firstScan)
		run.stop()
		for _, want := range []string{
			`level=ERROR msg="holdfast: reaper: failed" id=old destination=shop type=order.created since=19`,
			`level=WARN msg="holdfast: reaper: stuck" since=`, `count=1 sample=[young] backlog=1`,
			`level=DEBUG msg="holdfast: reaper: scanned" backlog=1`,
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	})
}
