// Rabbitmq is a whole consumer on RabbitMQ. It makes a queue as its owner
// would, puts five orders into it, and handles them until each has met its
// fate:
//
//   - two are charged;
//   - one comes while the bank is down: it is held for a second, and charged;
//   - one is declined on every attempt: it goes down the ladder and is parked;
//   - one cannot be decoded: it is parked at once.
//
// AMQP_URL says where the broker is. What happens is logged to stderr; the
// outcome is on stdout. Afterwards `holdfast parked orders.billing` shows what
// is parked, and why.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
)

const queue = "orders.billing"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Getenv("AMQP_URL")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string) error {
	if url == "" {
		return errors.New("set AMQP_URL, as in amqp://guest:guest@127.0.0.1:5672/")
	}
	rmq, err := rabbitmq.Open(ctx, rabbitmq.Config{URL: url})
	if err != nil {
		return err
	}
	defer rmq.Close()
	ids, err := publishOrders(url)
	if err != nil {
		return err
	}

	ctx, done := context.WithCancel(ctx)
	defer done()
	c, err := holdfast.NewConsumer(rmq, holdfast.ConsumerConfig{
		Queue:   queue,
		Handler: holdfast.JSON(charge),
		// The defaults are 1 s, 10 s, 30 s, 90 s and a hold of 10 min: too long to watch.
		Policy:   holdfast.Policy{Ladder: []time.Duration{200 * time.Millisecond, time.Second}, Hold: time.Second},
		Observer: holdfast.Observers(holdfast.LogObserver(slog.Default()), whenSettled(ids, done)),
	})
	if err != nil {
		return err
	}
	if err := c.Run(ctx); err != nil { // blocks; when ctx ends it drains and returns nil
		return err
	}
	fmt.Printf("books: %+v\n", c.Books())
	fmt.Printf("what is parked, and why: holdfast parked %s\n", queue)
	return nil
}

// whenSettled calls done once each of these messages met its fate. A service
// runs on; an example ends. Delivery is at least once, so it looks at names
// and does not count.
func whenSettled(ids []string, done func()) holdfast.Observer {
	var mu sync.Mutex
	open := map[string]bool{}
	for _, id := range ids {
		open[id] = true
	}
	return holdfast.ObserverFunc(func(e holdfast.Event) {
		switch e.Kind {
		case holdfast.EventDone, holdfast.EventParked, holdfast.EventDiscarded:
			mu.Lock()
			defer mu.Unlock()
			if delete(open, e.MessageID); len(open) == 0 {
				done()
			}
		}
	})
}
