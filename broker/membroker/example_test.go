package membroker_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
)

var errDeclined = errors.New("card declined")

// charge is a handler that is to be tested.
func charge(_ context.Context, m *holdfast.Message) error {
	if string(m.Body) == "stolen card" {
		return holdfast.Park(errDeclined)
	}
	return nil
}

// A test of a handler publishes what the handler is to see, runs a consumer,
// and looks at what became of the messages.
func Example() {
	b := membroker.New()
	defer b.Close()
	b.DeclareQueue("billing")
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	for _, body := range []string{"good card", "stolen card"} {
		_ = b.Publish(ctx, broker.Target{Queue: "billing"}, &broker.Message{Body: []byte(body)})
	}

	c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{
		Queue: "billing", Handler: charge,
		Observer: holdfast.ObserverFunc(func(e holdfast.Event) {
			if e.Kind == holdfast.EventParked {
				stop() // both are settled: the queue keeps its order
			}
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := c.Run(ctx); err != nil {
		fmt.Println(err)
	}

	fmt.Println("left:", len(b.Messages("billing")))
	for _, m := range b.Messages(membroker.ParkedQueue("billing")) {
		fmt.Printf("parked: %s: %s (%s)\n", m.Message.Body, m.Capture.Error, m.Capture.Reason)
	}
	// Output:
	// left: 0
	// parked: stolen card: card declined (verdict)
}
