// Quickstart is the smallest whole consumer: it makes a queue as its owner
// would, puts five orders into it, and handles them until nothing is left to
// do. One order cannot be decoded, one always fails; both end up parked, and
// `holdfast parked orders.billing` shows why.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
)

const queue = "orders.billing"

// Order is what the messages carry.
type Order struct {
	ID     int
	Amount float64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := publishOrders(os.Getenv("AMQP_URL")); err != nil {
		log.Fatal(err)
	}
	if err := run(ctx, os.Getenv("AMQP_URL")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string) error {
	ctx, done := context.WithCancel(ctx)
	defer done()
	rmq, err := rabbitmq.Open(ctx, rabbitmq.Config{URL: url})
	if err != nil {
		return err
	}
	defer rmq.Close()
	var settled atomic.Int32
	c, err := holdfast.NewConsumer(rmq, holdfast.ConsumerConfig{
		Queue:   queue,
		Handler: holdfast.JSON(charge),
		Policy:  holdfast.Policy{Ladder: []time.Duration{200 * time.Millisecond, time.Second}},
		Observer: holdfast.Observers(
			holdfast.LogObserver(slog.Default()),
			holdfast.ObserverFunc(func(e holdfast.Event) { // five orders, then stop: a service runs on
				if e.Kind == holdfast.EventDone || e.Kind == holdfast.EventParked {
					if settled.Add(1) == 5 {
						done()
					}
				}
			}),
		),
	})
	if err != nil {
		return err
	}
	if err := c.Run(ctx); err != nil {
		return err
	}
	fmt.Printf("books: %+v\n", c.Books())
	return nil
}

// charge is the handler: it returns an error, and the rest is not its business.
func charge(_ context.Context, o Order, m *holdfast.Message) error {
	if o.Amount < 0 {
		return fmt.Errorf("order %d: the card was declined", o.ID)
	}
	fmt.Printf("order %d charged on attempt %d\n", o.ID, m.Attempt)
	return nil
}

func publishOrders(url string) error {
	conn, err := amqp.Dial(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	if _, err := ch.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
		return err
	}
	if err := ch.Confirm(false); err != nil {
		return err
	}
	for i, body := range []string{
		`{"ID":1,"Amount":9.99}`, `{"ID":2,"Amount":20}`, `{"ID":3,"Amount":-1}`, `{"ID":4,"Amount":`, `{"ID":5,"Amount":5}`,
	} {
		c, err := ch.PublishWithDeferredConfirm("", queue, true, false, amqp.Publishing{
			MessageId: fmt.Sprintf("order-%d", i+1), ContentType: "application/json", DeliveryMode: amqp.Persistent, Body: []byte(body),
		})
		if err != nil {
			return err
		}
		if !c.Wait() {
			return errors.New("the broker did not confirm an order")
		}
	}
	return nil
}
