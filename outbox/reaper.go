package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// The defaults and bounds of a [ReaperConfig].
const (
	DefaultReaperInterval  = 15 * time.Minute
	DefaultReaperFirstScan = 5 * time.Second
	DefaultReaperWarnAfter = 15 * time.Minute
	DefaultReaperFailAfter = 4 * time.Hour
	DefaultReaperBatch     = 100
	DefaultReaperTimeout   = 5 * time.Second
	DefaultReaperLease     = time.Minute

	minReaperInterval  = time.Second
	maxReaperInterval  = 24 * time.Hour
	minReaperFirstScan = time.Millisecond
	minReaperAge       = time.Second
	maxReaperWarnAfter = 7 * 24 * time.Hour
	maxReaperFailAfter = 30 * 24 * time.Hour
	maxReaperBatch     = 10_000
	minReaperTimeout   = 10 * time.Millisecond
	minReaperLease     = 100 * time.Millisecond
)

// ReaperConfig says what a reaper does. It is copied, defaulted and checked
// whole by [NewReaper].
type ReaperConfig struct {
	// Outbox holds the rows. Required.
	Outbox store.Outbox

	// Default and Routes are those of the relays, of which only Unknown counts:
	// rows that are left for a human fail here in the end, and rows that are
	// published again never do. Where a relay at work leaves what these would
	// publish again, it is left.
	Default Route
	Routes  map[string]Route

	// Interval is how often to look: 1 s to 24 h, and at most FailAfter less
	// WarnAfter, so that no row fails that nobody was warned of. 0 means 15 min.
	Interval time.Duration

	// FirstScan is when to look first, so that an incident shows soon after a
	// restart: 1 ms to Interval. 0 means 5 s.
	FirstScan time.Duration

	// WarnAfter is how long a row may be Publishing under a lease that is over
	// before it is told of: 1 s to 7 days. 0 means 15 min.
	WarnAfter time.Duration

	// FailAfter is when it is failed: more than WarnAfter, up to 30 days. 0
	// means 4 h.
	FailAfter time.Duration

	// Batch is how many rows one scan fails at most: 1 to 10,000. 0 means 100.
	Batch int

	// Timeout bounds the statement that fails one row: 10 ms to half of
	// Interval. 0 means 5 s, or that half where it is less.
	Timeout time.Duration

	// Lease is how long a relay's beat must not change for it to be dead: 100 ms
	// to half of Interval. 0 means 1 min, or that half where it is less. Where a
	// relay has a longer one, that counts.
	Lease time.Duration

	// Logger gets every event. Nil means [slog.Default].
	Logger *slog.Logger

	// Observe is told of every event. It is called from one goroutine at a
	// time, must not block, may panic without harm, and may be nil.
	Observe func(ReaperEvent)
}

func (c ReaperConfig) withDefaults() ReaperConfig {
	set := func(d *time.Duration, fallback time.Duration) {
		if *d == 0 {
			*d = fallback
		}
	}
	set(&c.Interval, DefaultReaperInterval)
	set(&c.FirstScan, min(DefaultReaperFirstScan, c.Interval))
	set(&c.WarnAfter, DefaultReaperWarnAfter)
	set(&c.FailAfter, DefaultReaperFailAfter)
	set(&c.Timeout, min(DefaultReaperTimeout, c.Interval/2))
	set(&c.Lease, min(DefaultReaperLease, c.Interval/2))
	if c.Batch == 0 {
		c.Batch = DefaultReaperBatch
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Default = c.Default.or(Route{Unknown: Republish})
	c.Routes = maps.Clone(c.Routes)
	for name, route := range c.Routes {
		c.Routes[name] = route.or(c.Default)
	}
	return c
}

func (c ReaperConfig) validate() error {
	var errs []error
	within := func(field string, low, high, d time.Duration) {
		if d < low || d > high {
			errs = append(errs, fmt.Errorf("reaper: %s must be %v to %v, not %v", field, low, high, d))
		}
	}
	rule := func(field string, route Route) {
		if route.Unknown != Republish && route.Unknown != LeaveForHuman {
			errs = append(errs, fmt.Errorf("reaper: %s.Unknown must be %q or %q, not %q",
				field, Republish, LeaveForHuman, shorten(string(route.Unknown))))
		}
	}
	within("Interval", minReaperInterval, maxReaperInterval, c.Interval)
	if len(errs) == 0 { // the bounds of these are made of Interval
		within("FirstScan", minReaperFirstScan, c.Interval, c.FirstScan)
		within("Timeout", minReaperTimeout, c.Interval/2, c.Timeout)
		within("Lease", minReaperLease, c.Interval/2, c.Lease)
	}
	within("WarnAfter", minReaperAge, maxReaperWarnAfter, c.WarnAfter)
	if c.Outbox == nil {
		errs = append(errs, errors.New("reaper: Outbox must not be nil"))
	}
	if c.FailAfter <= c.WarnAfter || c.FailAfter > maxReaperFailAfter {
		errs = append(errs, fmt.Errorf("reaper: FailAfter must be more than WarnAfter (%v), up to %v, not %v",
			c.WarnAfter, maxReaperFailAfter, c.FailAfter))
	} else if c.Interval > c.FailAfter-c.WarnAfter {
		errs = append(errs, fmt.Errorf("reaper: Interval must be at most FailAfter less WarnAfter (%v), not %v",
			c.FailAfter-c.WarnAfter, c.Interval))
	}
	for name, route := range c.Routes {
		rule(fmt.Sprintf("Routes[%q]", shorten(name)), route)
	}
	rule("Default", c.Default)
	if c.Batch < 1 || c.Batch > maxReaperBatch {
		errs = append(errs, fmt.Errorf("reaper: Batch must be 1 to %d, not %d", maxReaperBatch, c.Batch))
	}
	return errors.Join(errs...)
}

// Reaper finds rows whose relay ended between the claim and the record of an
// outcome, and which are left for a human: it warns of them, and in the end
// fails them with a text that says what nobody knows. Any number of reapers may
// run on one outbox. Its methods may be called concurrently.
type Reaper struct {
	cfg ReaperConfig

	mu     sync.Mutex
	status ReaperStatus
}

// NewReaper makes a reaper. It checks the configuration and asks nothing of the
// database: that is [Reaper.Run]. Its error is of class [store.ErrConfig], and
// every line of it names a field, its bound and the value.
func NewReaper(cfg ReaperConfig) (*Reaper, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("outbox: %w: %w", store.ErrConfig, err)
	}
	return &Reaper{cfg: cfg}, nil
}

// Run scans until ctx ends, waits for the end of a scan that is under way, and
// returns nil. A scan that fails, or panics, is told of, and the next one comes
// in its time. Time is the process's monotonic clock: no step of a clock delays
// a scan.
func (r *Reaper) Run(ctx context.Context) error {
	due := time.Now().Add(r.cfg.FirstScan)
	timer := time.NewTimer(r.cfg.FirstScan)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		r.watch(ctx, due)
		due = due.Add(r.cfg.Interval)
		if late := time.Since(due); late > 0 {
			due = due.Add(late) // at once, and then in step again; not one for each that was missed
		}
		timer.Reset(time.Until(due))
	}
}

// watch runs one scan and ends it at 90 % of the interval. A store that does
// not obey even then cannot be left behind: it is told of in every interval.
func (r *Reaper) watch(ctx context.Context, due time.Time) {
	limit := r.cfg.Interval / 10 * 9
	scanCtx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the scan was ended after %v, 90 %% of the interval", limit))
	defer cancel()
	start := time.Now()
	r.began(start, start.Sub(due))
	done := make(chan error, 1)
	go func() { done <- r.guarded(scanCtx) }()
	stalled := time.NewTicker(r.cfg.Interval)
	defer stalled.Stop()
	for {
		select {
		case err := <-done:
			if err != nil && scanCtx.Err() != nil {
				err = fmt.Errorf("%w (%w)", context.Cause(scanCtx), err)
			}
			r.ended(time.Since(start), err, ctx.Err() != nil)
			return
		case <-stalled.C:
			r.tell(ReaperEvent{
				Kind: ReaperStalled, Duration: time.Since(start),
				Text: "the scan does not end though it was told to: no row is watched. Look at the database's connections, and restart this process",
			})
		}
	}
}

// guarded turns a panic of a scan into an error of it.
func (r *Reaper) guarded(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n\n%s", v, debug.Stack())
		}
	}()
	return r.scan(ctx)
}
