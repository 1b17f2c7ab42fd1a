package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/classify/sqlstate"
)

var errBillingDown = errors.New("billing is down")

// order is what the examples' messages carry.
type order struct {
	ID     int
	Amount float64
}

// give starts a broker in memory with messages in one queue, as a stand-in for
// rabbitmq.Open.
func give(queue string, bodies ...string) *membroker.Broker {
	b := membroker.New()
	b.DeclareQueue(queue)
	for _, body := range bodies {
		if err := b.Publish(context.Background(), broker.Target{Queue: queue}, &broker.Message{Body: []byte(body)}); err != nil {
			log.Fatal(err)
		}
	}
	return b
}

// until ends a consumer when n messages have met their fate.
func until(n int, stop func()) holdfast.Observer {
	return holdfast.ObserverFunc(func(e holdfast.Event) {
		switch e.Kind {
		case holdfast.EventDone, holdfast.EventParked, holdfast.EventHeld, holdfast.EventDiscarded:
			if n--; n == 0 {
				stop()
			}
		}
	})
}

// A consumer with a typed handler: a body that is no order is parked by
// itself, and the handler says by the error it returns what becomes of the
// rest.
func ExampleNewConsumer() {
	b := give("orders", `{"ID":1,"Amount":9.5}`, `{"ID":2,"Amount":-1}`, `{"ID":`)
	defer b.Close()
	ctx, stop := context.WithCancel(context.Background())
	c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{
		Queue: "orders",
		Handler: holdfast.JSON(func(_ context.Context, o order, _ *holdfast.Message) error {
			if o.Amount < 0 {
				return holdfast.Park(fmt.Errorf("order %d has a negative amount", o.ID))
			}
			return nil
		}),
		Observer: until(3, stop),
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Run(ctx); err != nil {
		log.Fatal(err)
	}
	for _, m := range b.Messages("orders.parked") {
		fmt.Printf("%s: %s\n", m.Capture.Reason, m.Capture.Error)
	}
	books := c.Books()
	fmt.Println("done", books.Done, "parked", books.Parked, "balanced", books.Balanced())
	// Output:
	// verdict: order 2 has a negative amount
	// malformed: malformed body: unexpected end of JSON input
	// done 1 parked 2 balanced true
}

// Hold waits for what a message needs, and spends no attempt.
func ExampleHold() {
	b := give("orders", `{"ID":1}`)
	defer b.Close()
	ctx, stop := context.WithCancel(context.Background())
	c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{
		Queue:    "orders",
		Handler:  func(context.Context, *holdfast.Message) error { return holdfast.Hold(errBillingDown) },
		Observer: until(1, stop),
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Run(ctx); err != nil {
		log.Fatal(err)
	}
	held := b.Messages("orders.hold")[0]
	fmt.Println("attempt", held.Capture.Attempt, "lap", held.Capture.Lap, held.Capture.Error)
	// Output:
	// attempt 1 lap 1 billing is down
}

// A policy may classify the errors of a library, so that handlers need not.
func ExamplePolicy_classify() {
	p := holdfast.EventPolicy()
	p.Classify = sqlstate.Classify
	fmt.Println(p.Attempts(), "attempts, hold", p.Hold, "up to", p.Laps, "times")
	// Output:
	// 5 attempts, hold 10m0s up to 12 times
}

// A responder answers requests; its reply is confirmed before the request is
// done.
func ExampleNewResponder() {
	b := membroker.New()
	defer b.Close()
	b.DeclareQueue("prices")
	b.DeclareQueue("caller")
	ask := &broker.Message{Body: []byte("apples"), ReplyTo: "caller", CorrelationID: "42"}
	if err := b.Publish(context.Background(), broker.Target{Queue: "prices"}, ask); err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r, err := holdfast.NewResponder(b, holdfast.ResponderConfig{
		Queue: "prices",
		Handler: func(_ context.Context, m *holdfast.Message) (*holdfast.Reply, error) {
			return &holdfast.Reply{Body: append([]byte("2 for "), m.Body...)}, nil
		},
		Observer: until(1, stop),
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := r.Run(ctx); err != nil {
		log.Fatal(err)
	}
	reply := b.Messages("caller")[0].Message
	fmt.Println(reply.CorrelationID, string(reply.Body))
	// Output:
	// 42 2 for apples
}
