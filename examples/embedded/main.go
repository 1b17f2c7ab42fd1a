// Embedded is a whole program for a machine with nothing but Go: the broker is
// a NATS server with JetStream inside the process, without a listener. Five
// orders are consumed; one is declined on every attempt, one cannot be
// decoded, and both end up parked, with the reason.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/jetstream"
	"github.com/holdfast-mq/holdfast/triage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "orders") // a service names a folder that stays
	if err != nil {
		log.Fatal(err)
	}
	err = run(ctx, dir)
	_ = os.RemoveAll(dir)
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string) error {
	server, err := startServer(dir)
	if err != nil {
		return err
	}
	defer server.stop()
	if err := server.publishOrders(ctx); err != nil {
		return err
	}
	b, err := jetstream.Open(ctx, jetstream.Config{InProcess: server})
	if err != nil {
		return err
	}
	defer b.Close()

	ctx, done := context.WithCancel(ctx)
	defer done()
	c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{
		Queue:    queue,
		Handler:  holdfast.JSON(charge),
		Policy:   holdfast.Policy{Ladder: []time.Duration{200 * time.Millisecond, time.Second}}, // to be watched
		Observer: holdfast.Observers(holdfast.LogObserver(slog.Default()), whenSettled(orders, done)),
	})
	if err != nil {
		return err
	}
	if err := c.Run(ctx); err != nil { // blocks; when ctx ends it drains and returns nil
		return err
	}
	fmt.Printf("books: %+v\n", c.Books())
	return printParked(context.WithoutCancel(ctx), b)
}

// printParked looks at what is parked as the person on call would, and changes
// nothing.
func printParked(ctx context.Context, b *jetstream.Broker) error {
	place, _ := b.ParkedPlace(queue)
	_, err := triage.List(ctx, b, triage.Place{Queue: place}, triage.ListOptions{}, func(m *broker.Stored) error {
		fmt.Printf("parked: %s: %s: %s\n", m.Message.ID, m.Capture.Reason, m.Capture.Error)
		return nil
	})
	return err
}
