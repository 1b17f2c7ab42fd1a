package main

import (
	"context"
	"fmt"
)

const (
	// warmUp takes a Holdfast consumer through its one-at-a-time start and
	// every contestant through its first confirms.
	warmUp      = 500
	minMessages = 1_000

	happyPrefetch = 100
	copyPrefetch  = 1_000
)

// contest is one kind of work, done by us and by the peers in turn.
type contest struct {
	name     string
	messages int
	prefetch int
	ours     contestant
	peers    []contestant
	targets  []float64 // by peer: our rate over its rate, at least; 0 for none
	usage    bool      // also report processor time and allocations
}

func rabbitContests(o options) []contest {
	return append(telemetryContests(o.happy),
		happyContest(o.happy),
		copyContest("park", o.copies, park, source+".parked", parkedTarget()),
		copyContest("retry", o.copies, fail, fmt.Sprintf("holdfast.retry.%d", longRung.Milliseconds()), rungTarget()),
	)
}

func happyContest(messages int) contest {
	return contest{
		name: "happy", messages: messages, prefetch: happyPrefetch, usage: true,
		ours: contestant{name: "holdfast", run: ours(openRabbitMQ, source, happyPrefetch, succeed)},
		peers: []contestant{
			{name: "ack each", run: ackEach(happyPrefetch)},
			{name: "acks coalesced by hand", run: ackCoalesced(happyPrefetch)},
		},
		targets: []float64{1.4, 0.85},
	}
}

func copyContest(name string, messages int, end func() error, copies string, to target) contest {
	return contest{
		name: name, messages: messages, prefetch: copyPrefetch,
		ours: contestant{name: "holdfast", run: ours(openRabbitMQ, source, copyPrefetch, end), copies: copies},
		peers: []contestant{
			{name: "wait for each confirm", run: copySerial(copyPrefetch, to), share: serialShare, copies: to.queue},
			{name: "bare pipelined loop", run: copyPipelined(copyPrefetch, to), copies: to.queue},
		},
		targets: []float64{10, 0.8},
	}
}

// run lets all contestants take turns, and begins each round with another one,
// so that what one leaves behind in the broker meets each of the others.
func (c contest) run(ctx context.Context, g ground, label string, rounds int) ([]row, error) {
	all := append([]contestant{c.ours}, c.peers...)
	results := make([][]result, len(all))
	for round := range rounds {
		for i := range all {
			k := (round + i) % len(all)
			r, err := measure(ctx, g, c, all[k])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", all[k].name, err)
			}
			say("  round %d: %-24s %8.0f msg/s %6.1f us cpu %6.1f allocs", round+1, all[k].name, r.rate, r.cpu, r.allocs)
			results[k] = append(results[k], r)
		}
	}
	return c.rows(label, results), nil
}

func (c contest) rows(label string, results [][]result) []row {
	var rows []row
	for i, peer := range c.peers {
		mine, theirs := results[0], results[i+1]
		title := fmt.Sprintf("%s: %s / %s", label, c.name, peer.name)
		rate := compare(title, "msg/s", mine, theirs, result.byRate)
		if c.targets[i] > 0 {
			rate = rate.least(c.targets[i])
		}
		rows = append(rows, rate)
		if c.usage {
			rows = append(rows,
				compare(title+", client CPU", "us/msg", mine, theirs, result.byCPU),
				compare(title+", allocations", "allocs/msg", mine, theirs, result.byAllocs))
		}
	}
	return rows
}

func (r result) byRate() float64   { return r.rate }
func (r result) byCPU() float64    { return r.cpu }
func (r result) byAllocs() float64 { return r.allocs }
func (r result) bySize() float64   { return r.size }
func (r result) byWall() float64   { return r.wall }
func (r result) byRead() float64   { return r.read }
