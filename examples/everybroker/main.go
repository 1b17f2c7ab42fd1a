// Everybroker is one handler and one policy on any broker: the flag -broker
// says which, and nothing else changes. The queue is the owner's and exists
// already, with some orders in it.
//
//	go run ./examples/everybroker -broker amqp://guest:guest@127.0.0.1/ -queue orders
//	go run ./examples/everybroker -broker nats://127.0.0.1:4222 -queue ORDERS/billing
//	go run ./examples/everybroker -broker sqs:eu-west-1 -queue orders.fifo
//	go run ./examples/everybroker -broker gcppubsub:my-project -queue orders
//	go run ./examples/everybroker -broker rocketmq://127.0.0.1:9876 -queue ORDERS/billing
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/awssqs"
	"github.com/holdfast-mq/holdfast/broker/gcppubsub"
	"github.com/holdfast-mq/holdfast/broker/jetstream"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/broker/rocketmq"
)

// Order is what the messages carry.
type Order struct {
	ID     int
	Amount float64
}

var errDeclined = errors.New("the card was declined")

func charge(_ context.Context, o Order, m *holdfast.Message) error {
	if o.Amount < 0 {
		return fmt.Errorf("order %d: %w", o.ID, errDeclined)
	}
	fmt.Printf("order %d charged on attempt %d\n", o.ID, m.Attempt)
	return nil
}

func main() {
	address := flag.String("broker", "", "the broker's `URL`")
	queue := flag.String("queue", "orders", "the queue, as this broker names it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *address, *queue); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address, queue string) error {
	b, err := open(ctx, address)
	if err != nil {
		return err
	}
	defer b.Close()
	c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{
		Queue:    queue,
		Handler:  holdfast.JSON(charge),
		Policy:   holdfast.Policy{Ladder: []time.Duration{time.Second, 2 * time.Second}}, // to be watched
		Observer: holdfast.LogObserver(slog.Default()),
	})
	if err != nil {
		return err
	}
	err = c.Run(ctx) // until ctrl-C
	fmt.Printf("books: %+v\n", c.Books())
	return err
}

// open is all that differs.
func open(ctx context.Context, address string) (broker.Broker, error) {
	scheme, rest, _ := strings.Cut(address, ":")
	switch scheme {
	case "amqp", "amqps":
		return rabbitmq.Open(ctx, rabbitmq.Config{URL: address})
	case "nats", "tls":
		return jetstream.Open(ctx, jetstream.Config{URL: address})
	case "sqs":
		return awssqs.Open(ctx, awssqs.Config{Region: rest})
	case "gcppubsub":
		return gcppubsub.Open(ctx, gcppubsub.Config{Project: rest})
	case "rocketmq":
		return rocketmq.Open(ctx, rocketmq.Config{URL: address})
	default:
		return nil, errors.New("-broker is an address of RabbitMQ, NATS, SQS, Pub/Sub or RocketMQ: see the head of main.go")
	}
}
