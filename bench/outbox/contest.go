package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// contestant is one way to publish the rows of a table.
type contestant struct {
	name  string
	share int // it gets one of so many rows; 0 is all

	// prepare makes the table and fills it.
	prepare func(ctx context.Context, g *ground, queue string, rows int) (site, error)
}

// site is the filled table of one run.
type site struct {
	// publish tells the meter of each row and returns when ctx ends, or with an error.
	publish func(ctx context.Context, m *meter) error
	remove  func()
}

func contestants() []contestant {
	everyRow := func(rows int) int { return rows }
	times := func(n int) func(int) int { return func(int) int { return n } }
	return []contestant{
		{name: base, prepare: relay(relayOn{})},
		{name: "bare", prepare: bare},
		{name: "watermill", prepare: watermillForwarder, share: 10},
		{name: "published", prepare: relay(relayOn{old: true})},
		{name: "keys-all", prepare: relay(relayOn{keys: everyRow})},
		{name: "keys-1000", prepare: relay(relayOn{keys: times(1_000)})},
		{name: "key-1", prepare: relay(relayOn{keys: times(1)}), share: 10},
		{name: "key-1-100", prepare: relay(relayOn{keys: times(1), inFlight: 100}), share: 5},
		{name: "sqlite", prepare: relayOnSQLite, share: 5},
	}
}

// base is the contestant that the others are compared with.
const base = "holdfast"

func names(all []contestant) []string {
	var n []string
	for _, c := range all {
		n = append(n, c.name)
	}
	return n
}

// measureRelays lets all contestants take turns, and begins each round with another one.
func measureRelays(ctx context.Context, g *ground) ([]row, error) {
	all := contestants()
	if len(g.only) > 0 {
		all = slices.DeleteFunc(all, func(c contestant) bool { return c.name != base && !slices.Contains(g.only, c.name) })
	}
	say("%s: relay, %d rounds of %d rows", g.broker, g.rounds, g.rows)
	results := map[string][]result{}
	for round := range g.rounds {
		for i := range all {
			c := all[(round+i)%len(all)]
			r, err := measure(ctx, g, c)
			if err != nil {
				return report(g, results), fmt.Errorf("%s: %w", c.name, err)
			}
			say("  round %d: %-10s %8.0f rows/s %6.1f us cpu", round+1, c.name, r.rate, r.cpu)
			results[c.name] = append(results[c.name], r)
		}
	}
	return report(g, results), nil
}

func measure(ctx context.Context, g *ground, c contestant) (result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, runTime, fmt.Errorf("a run took longer than %v", runTime))
	defer cancel()
	queue, remove, err := g.declare()
	if err != nil {
		return result{}, err
	}
	defer remove()
	rows := g.rows / max(c.share, 1)
	s, err := c.prepare(ctx, g, queue, rows)
	if err != nil {
		return result{}, err
	}
	defer s.remove()
	m := newMeter(rows)
	if err := runUntilDone(ctx, s, m); err != nil {
		return result{}, err
	}
	return m.result(), g.verify(ctx, queue, rows)
}

func runUntilDone(ctx context.Context, s site, m *meter) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.publish(running, m) }()
	select {
	case <-m.done:
		stop()
		return <-ended
	case err := <-ended:
		return errors.Join(err, context.Cause(ctx), errors.New("ended before all rows were published"))
	}
}

// report compares what was measured.
func report(g *ground, results map[string][]result) (rows []row) {
	rate := func(r result) float64 { return r.rate }
	cpu := func(r result) float64 { return r.cpu }
	line := func(title, unit, ours, peer string, by func(result) float64, least float64) {
		a, b := results[ours], results[peer]
		if n := min(len(a), len(b)); n > 0 { // after a failure not all have made the same rounds
			rows = append(rows, compare(g.broker+": relay"+title, unit, values(a[:n], by), values(b[:n], by)).least(least))
		}
	}
	line(" / Watermill's SQL forwarder", "rows/s", base, "watermill", rate, 5)
	line(" / bare loop", "rows/s", base, "bare", rate, 0.6)
	line(" / bare loop, client CPU", "us/row", base, "bare", cpu, 0)
	line(fmt.Sprintf(", %d published rows / none", g.published), "rows/s", "published", base, rate, 0.9)
	line(fmt.Sprintf(", %d ordering keys / none", g.rows), "rows/s", "keys-all", base, rate, 0.7)
	line(", 1000 ordering keys / none", "rows/s", "keys-1000", base, rate, 0)
	line(", 1 ordering key, 1 in flight / none", "rows/s", "key-1", base, rate, 0)
	line(", 1 ordering key, 100 in flight / none", "rows/s", "key-1-100", base, rate, 0)
	line(" on SQLite / on PostgreSQL", "rows/s", "sqlite", base, rate, 0)
	return rows
}

func values(results []result, by func(result) float64) []float64 {
	out := make([]float64, len(results))
	for i, r := range results {
		out[i] = by(r)
	}
	return out
}
