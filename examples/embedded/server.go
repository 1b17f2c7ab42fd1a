package main

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// queue is a durable consumer of a stream. Both are their owner's: Holdfast
// never touches them.
const (
	stream   = "ORDERS"
	consumer = "billing"
	queue    = stream + "/" + consumer
)

// orders are the bodies by message id.
var orders = map[string]string{
	"order-1": `{"ID":1,"Amount":9.99}`, "order-2": `{"ID":2,"Amount":20}`, "order-3": `{"ID":3,"Amount":-1}`,
	"order-4": `{"ID":4,"Amount":`, "order-5": `{"ID":5,"Amount":5}`,
}

// embedded is a NATS server that can be reached from this process alone. One
// folder belongs to one process at a time.
type embedded struct{ *server.Server }

func startServer(dir string) (embedded, error) {
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		return embedded{}, err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return embedded{}, errors.New("the NATS server does not get ready")
	}
	return embedded{s}, nil
}

func (e embedded) stop() {
	e.Shutdown()
	e.WaitForShutdown()
}

// publishOrders stands for the rest of the company: the owner who makes stream
// and consumer, and the producer, who knows nothing of Holdfast.
func (e embedded) publishOrders(ctx context.Context) error {
	conn, err := nats.Connect("", nats.InProcessServer(e))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: stream, Subjects: []string{"orders.*"}}); err != nil {
		return err
	}
	if _, err := js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		return err
	}
	for id, body := range orders {
		if _, err := js.Publish(ctx, "orders.created", []byte(body), jetstream.WithMsgID(id)); err != nil {
			return err
		}
	}
	return nil
}
