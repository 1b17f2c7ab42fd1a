package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
)

const settledPoll = 100 * time.Microsecond

var errFailed = errors.New("the handler failed")

func succeed() error { return nil }
func park() error    { return holdfast.Park(errFailed) }
func fail() error    { return errFailed }

func openRabbitMQ(ctx context.Context, c cell) (broker.Broker, error) {
	return rabbitmq.Open(ctx, rabbitmq.Config{URL: c.url})
}

// ours is the contestant: a consumer of queue whose handler ends as end says.
func ours(open func(context.Context, cell) (broker.Broker, error), queue string, prefetch int, end func() error) func(context.Context, cell) error {
	return oursTold(open, queue, prefetch, end, nil)
}

// oursTold is the same that tells somebody what it does; tell may be nil.
func oursTold(open func(context.Context, cell) (broker.Broker, error), queue string, prefetch int, end func() error, tell *told) func(context.Context, cell) error {
	return func(ctx context.Context, c cell) error {
		b, err := open(ctx, c)
		if err != nil {
			return err
		}
		defer b.Close()
		cfg := holdfast.ConsumerConfig{
			Queue:    queue,
			Prefetch: prefetch,
			Policy:   holdfast.Policy{Ladder: []time.Duration{longRung}},
			Handler: func(context.Context, *holdfast.Message) error {
				c.clock.pass()
				return end()
			},
		}
		consumer, err := holdfast.NewConsumer(b, tell.of(cfg))
		if err != nil {
			return err
		}
		defer tell.watch(ctx, consumer)()
		run, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			defer stop()
			awaitSettled(run, consumer, c.clock)
		}()
		err = consumer.Run(run)
		return errors.Join(err, checkBooks(consumer.Books(), c.clock.total))
	}
}

// awaitSettled stops the clock when the consumer has told the broker of every
// message. It polls only after the last one, so that no observer slows the
// others down.
func awaitSettled(ctx context.Context, consumer *holdfast.Consumer, c *clock) {
	select {
	case <-c.last:
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		if consumer.Books().InFlight == 0 {
			c.stop()
			return
		}
		time.Sleep(settledPoll)
	}
}

// checkBooks refuses a run with redeliveries: it did other work than its
// peers.
func checkBooks(b holdfast.Books, total int) error {
	if n := b.Done + b.Delayed + b.Parked; n != int64(total) || b.Received != n {
		return fmt.Errorf("the consumer's books are not those of %d messages: %+v", total, b)
	}
	return nil
}
