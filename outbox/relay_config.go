package outbox

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/store"
)

// Defaults and bounds of a relay.
const (
	DefaultRelayLease    = 15 * time.Second
	DefaultRelayBatch    = 500
	DefaultRelayParallel = 8
	DefaultRelayMinPoll  = 50 * time.Millisecond
	DefaultRelayMaxPoll  = 2 * time.Second
	DefaultRelayGrace    = 10 * time.Second
	DefaultRouteRefusals = 30

	minRelayLease    = time.Second
	maxRelayLease    = 10 * time.Minute
	maxRelayBatch    = 5000
	minRelayPoll     = time.Millisecond
	maxRelayPoll     = time.Minute
	maxRelayGrace    = 10 * time.Minute
	maxRouteInFlight = 1000
	maxRouteRefusals = 1000
)

// UnknownRule is what becomes of a row of which nobody can say whether the
// broker has it.
type UnknownRule string

// The rules. The zero value, in [RelayConfig.Default], is Republish.
const (
	// Republish publishes it again, marked by [broker.HeaderOutboxRepeat]. A
	// duplicate is possible, a loss is not.
	Republish UnknownRule = "republish"

	// LeaveForHuman leaves it as it is until a person decides. No duplicate is
	// possible; a message that was never published waits for that person.
	LeaveForHuman UnknownRule = "leave"
)

// Route is how the rows of one destination are published. What is zero is as
// in [RelayConfig.Default].
type Route struct {
	Unknown UnknownRule

	// InFlight is how many rows of one ordering key may be under way at once:
	// 1 to 1,000. 0 means 1, which keeps the order whatever happens. More is
	// faster, and the order breaks where the broker refuses a row while those
	// behind it are under way. A broker without [broker.Outlets] has no order of
	// publishing, so that it is 1 there.
	InFlight int

	// Refusals is how often the broker may refuse a row before it fails: 1 to
	// 1,000. 0 means 30, which is some two hours: each wait is twice the one
	// before, from 1 s to 5 min.
	Refusals int
}

// RelayConfig is what a relay needs. It is copied, defaulted and checked whole
// by [NewRelay].
type RelayConfig struct {
	// Outbox holds the rows. Required.
	Outbox store.Outbox

	// Broker is where they are published: through [broker.Outlets] where it
	// has them. Required. The relay does not close it.
	Broker broker.Publisher

	// Name is shown to people. Empty means the host's name and the process id.
	Name string

	// Lease is for how long a relay that is gone keeps its lanes: 1 s to 10
	// min. 0 means 15 s. Others go on at most 2 s after its end. A relay that was
	// stopped or starved for three quarters of it stops publishing until it has
	// its lanes again.
	Lease time.Duration

	// Batch is how many rows of a lane are claimed at once: 1 to 5,000. 0 means
	// 500. It is less while payloads are large, so that the rows in the memory of
	// one lane weigh some 8 MiB, and at most 50 where a route leaves rows for a
	// human, who then has fewer of them to look at after a crash.
	Batch int

	// Parallel is how many lanes are published at once: 1 to 64. 0 means 8.
	Parallel int

	// MinPoll and MaxPoll are how often to look for rows: at first, and after
	// some time without any. 1 ms to 1 min. 0 means 50 ms and 2 s. A store
	// that wakes makes an idle relay look at once.
	MinPoll time.Duration
	MaxPoll time.Duration

	// Grace is how long [Relay.Run] waits at its end for what is under way: up
	// to 10 min. 0 means 10 s.
	Grace time.Duration

	// Default is the route of destinations that Routes does not name.
	Default Route
	Routes  map[string]Route

	// Logger gets every event. Nil means [slog.Default].
	Logger *slog.Logger

	// Observe is told of every event, from several goroutines at once. It must
	// not block, may panic without harm, and may be nil.
	Observe func(RelayEvent)
}

func (c RelayConfig) withDefaults() RelayConfig {
	duration := func(d *time.Duration, fallback time.Duration) {
		if *d == 0 {
			*d = fallback
		}
	}
	duration(&c.Lease, DefaultRelayLease)
	duration(&c.MinPoll, DefaultRelayMinPoll)
	duration(&c.MaxPoll, max(DefaultRelayMaxPoll, c.MinPoll))
	duration(&c.Grace, DefaultRelayGrace)
	if c.Batch == 0 {
		c.Batch = DefaultRelayBatch
	}
	if c.Parallel == 0 {
		c.Parallel = DefaultRelayParallel
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Name == "" {
		host, _ := os.Hostname()
		c.Name = host + "-" + strconv.Itoa(os.Getpid())
	}
	c.Default = c.Default.or(Route{Unknown: Republish, InFlight: 1, Refusals: DefaultRouteRefusals})
	c.Routes = maps.Clone(c.Routes)
	for name, r := range c.Routes {
		c.Routes[name] = r.or(c.Default)
	}
	return c
}

// or fills what is zero from other.
func (r Route) or(other Route) Route {
	if r.Unknown == "" {
		r.Unknown = other.Unknown
	}
	if r.InFlight == 0 {
		r.InFlight = other.InFlight
	}
	if r.Refusals == 0 {
		r.Refusals = other.Refusals
	}
	return r
}

func (c RelayConfig) validate() error {
	var p relayProblems
	p.when(c.Outbox == nil, "Outbox must not be nil")
	p.when(c.Broker == nil, "Broker must not be nil")
	p.when(len(c.Name) > maxName, "Name must be at most %d bytes, not %d", maxName, len(c.Name))
	p.duration("Lease", c.Lease, minRelayLease, maxRelayLease)
	p.duration("MinPoll", c.MinPoll, minRelayPoll, maxRelayPoll)
	p.duration("MaxPoll", c.MaxPoll, c.MinPoll, maxRelayPoll)
	p.duration("Grace", c.Grace, time.Millisecond, maxRelayGrace)
	p.number("Batch", c.Batch, maxRelayBatch)
	p.number("Parallel", c.Parallel, store.Lanes)
	p.route("Default", c.Default)
	for _, name := range slices.Sorted(maps.Keys(c.Routes)) {
		p.route(fmt.Sprintf("Routes[%q]", shorten(name)), c.Routes[name])
	}
	return errors.Join(p...)
}

// relayProblems has a line for each field: its name, its bound, what it is.
type relayProblems []error

func (p *relayProblems) when(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf("relay: "+format, args...))
	}
}

func (p *relayProblems) duration(field string, d, low, high time.Duration) {
	p.when(d < low || d > high, "%s must be %v to %v, not %v", field, low, high, d)
}

func (p *relayProblems) number(field string, n, high int) {
	p.when(n < 1 || n > high, "%s must be 1 to %d, not %d", field, high, n)
}

func (p *relayProblems) route(field string, r Route) {
	p.when(r.Unknown != Republish && r.Unknown != LeaveForHuman,
		"%s.Unknown must be %q or %q, not %q", field, Republish, LeaveForHuman, shorten(string(r.Unknown)))
	p.number(field+".InFlight", r.InFlight, maxRouteInFlight)
	p.number(field+".Refusals", r.Refusals, maxRouteRefusals)
}

// route is how a destination is published to.
func (c RelayConfig) route(destination string) Route {
	if r, ok := c.Routes[destination]; ok {
		return r
	}
	return c.Default
}
