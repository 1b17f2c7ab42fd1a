package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/internal/embedded"
)

const (
	// repeats is how often a run is made again whose work was not complete
	// when its clock stopped.
	repeats = 3

	// runTime is far above what any run takes.
	runTime = 5 * time.Minute

	// rest is how long everything stands still before the clock starts: the
	// prefetched messages arrive and the broker finishes what filling began.
	rest = 200 * time.Millisecond
)

// ground is a broker to measure on.
type ground interface {
	// prepare makes a place that knows nothing of the run before, for
	// contestants with this prefetch.
	prepare(ctx context.Context, prefetch int) (site, error)
}

// site is the place of one run: a source that can be filled and looked at.
type site interface {
	fill(ctx context.Context, n int) error

	// verify checks that the work of p was really done on all of total
	// messages: none is left in the source, and there is a copy of each where
	// there shall be.
	verify(ctx context.Context, p contestant, total int) error

	// cell is what a contestant gets to know.
	cell(*clock) cell

	// remove leaves nothing behind, also after an interrupt.
	remove() error
}

// cell is one run of one contestant on a site of its own.
type cell struct {
	url   string           // where the broker is, or
	local *embedded.Server // the broker itself
	clock *clock
}

// contestant is one way to do the work of a contest.
type contestant struct {
	name  string
	share int // it gets one of so many messages; 0 is all

	// run consumes until clock.done, calls clock.stop when the last
	// acknowledgement is written, and closes in order.
	run func(ctx context.Context, c cell) error

	// copies is the queue or stream that must have a copy of every message
	// afterwards; empty when there are none.
	copies string
}

// measure runs one contestant until a run counts.
func measure(ctx context.Context, g ground, c contest, p contestant) (res result, err error) {
	for range repeats {
		res, err = measureOnce(ctx, g, c, p)
		if !errors.Is(err, errIncomplete) {
			break
		}
		say("  again: %s: %v", p.name, err)
	}
	return res, err
}

func measureOnce(ctx context.Context, g ground, c contest, p contestant) (result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, runTime, fmt.Errorf("a run took longer than %v", runTime))
	defer cancel()
	s, err := g.prepare(ctx, c.prefetch)
	if err != nil {
		return result{}, err
	}
	res, err := runCell(ctx, s, p, newClock(warmUp, c.messages/max(p.share, 1)))
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return res, errors.Join(err, s.remove())
}

func runCell(ctx context.Context, s site, p contestant, clock *clock) (result, error) {
	if err := s.fill(ctx, clock.total); err != nil {
		return result{}, fmt.Errorf("filling the queue: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx, s.cell(clock)) }()
	select {
	case <-clock.warmed:
	case err := <-ended:
		return result{}, errors.Join(err, errors.New("ended before it was warm"))
	}
	sleep(ctx, rest)
	clock.start()
	if err := <-ended; err != nil {
		return result{}, err
	}
	return clock.result(), s.verify(ctx, p, clock.total)
}
