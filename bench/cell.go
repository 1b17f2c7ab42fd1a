package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	source = "orders"

	// repeats is how often a run is made again whose work was not complete
	// when its clock stopped.
	repeats = 3

	// runTime is far above what any run takes.
	runTime = 5 * time.Minute

	// rest is how long everything stands still before the clock starts: the
	// prefetched messages arrive and the broker finishes what filling began.
	rest = 200 * time.Millisecond
)

// cell is one run of one contestant on a virtual host of its own.
type cell struct {
	url   string
	clock *clock
}

// contestant is one way to do the work of a contest.
type contestant struct {
	name  string
	share int // it gets one of so many messages; 0 is all

	// run consumes until clock.done, calls clock.stop when the last
	// acknowledgement is written, and closes in order.
	run func(ctx context.Context, c cell) error

	// copies is the queue that must have a copy of every message afterwards;
	// empty when there are none.
	copies string
}

// measure runs one contestant until a run counts.
func measure(ctx context.Context, s server, p contestant, warm, messages int) (res result, err error) {
	for range repeats {
		res, err = measureOnce(ctx, s, p, warm, messages)
		if !errors.Is(err, errIncomplete) {
			break
		}
		say("  again: %s: %v", p.name, err)
	}
	return res, err
}

func measureOnce(ctx context.Context, s server, p contestant, warm, messages int) (result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, runTime, fmt.Errorf("a run took longer than %v", runTime))
	defer cancel()
	url, drop, err := s.vhost(ctx)
	if err != nil {
		return result{}, err
	}
	res, err := runCell(ctx, url, p, newClock(warm, messages/max(p.share, 1)))
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return res, errors.Join(err, drop())
}

func runCell(ctx context.Context, url string, p contestant, clock *clock) (result, error) {
	h, err := openHouse(ctx, url)
	if err != nil {
		return result{}, err
	}
	defer h.close()
	if err := h.fill(ctx, clock.total); err != nil {
		return result{}, fmt.Errorf("filling the queue: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx, cell{url: url, clock: clock}) }()
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
	return clock.result(), h.verify(ctx, p, clock.total)
}
