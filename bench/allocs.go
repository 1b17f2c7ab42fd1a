package main

import (
	"context"
	"fmt"

	"github.com/holdfast-mq/holdfast"
)

const (
	coreMessages = 100_000

	// coreBound is how many allocations the core may add to a message.
	coreBound = 5
)

// measureCore runs the core on a broker that allocates nothing, so that every
// allocation counted is the core's own.
func measureCore(ctx context.Context, o options) ([]row, error) {
	results := make([]result, o.rounds)
	for i := range results {
		clock := newClock(warmUp, coreMessages)
		if err := runCore(ctx, clock); err != nil {
			return nil, fmt.Errorf("core: %w", err)
		}
		results[i] = clock.result()
	}
	bounds := make([]result, o.rounds)
	for i := range bounds {
		bounds[i] = result{allocs: coreBound}
	}
	name := fmt.Sprintf("core alone: allocations / the bound of %d", coreBound)
	return []row{compare(name, "allocs/msg", results, bounds, result.byAllocs).most(1)}, nil
}

func runCore(ctx context.Context, clock *clock) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	consumer, err := holdfast.NewConsumer(newStill(), holdfast.ConsumerConfig{
		Queue: source,
		Handler: func(context.Context, *holdfast.Message) error {
			if clock.pass(); clock.done() {
				clock.stop()
				stop()
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- consumer.Run(ctx) }()
	select {
	case <-clock.warmed:
	case err := <-ended:
		return err
	}
	clock.start()
	return <-ended
}
