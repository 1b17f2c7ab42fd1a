package main

import (
	"context"
	"log/slog"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/outbox"
)

// The consumers: the name is part of the key by which an inbox knows what was
// handled, and stays when a queue is renamed.
const (
	billing  = "billing"
	accounts = "accounts"
)

// The events. Exchange, key, queues and bindings follow from these lines, for
// who publishes and for who consumes.
var (
	placed   = outbox.MustDefine[Order]("orders.placed", 1)
	paid     = outbox.MustDefine[Payment]("payments.received", 1)
	invoiced = outbox.MustDefine[Invoice]("billing.invoiced", 1)

	topology = []outbox.Manifest{placed.Manifest(billing), paid.Manifest(billing), invoiced.Manifest(accounts)}
)

// Order is what a customer wants. Its id is the client's Idempotency-Key, and
// so is a payment's: one thing less to map.
type Order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Cents    int64  `json:"cents"`
}

// Payment is what a customer has paid for an order.
type Payment struct {
	ID    string `json:"id"`
	Order string `json:"order"`
	Cents int64  `json:"cents"`
}

// Invoice is what billing has made of an order.
type Invoice struct {
	Order    string `json:"order"`
	Customer string `json:"customer"`
	Cents    int64  `json:"cents"`
}

// declared declares the topology, and goes on trying while there is no
// broker: nobody can consume or publish before.
func (s *service) declared(ctx context.Context) {
	for {
		err := declare(s.amqp)
		if err == nil {
			return
		}
		slog.WarnContext(ctx, "the topology is not declared yet", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

func declare(url string) error {
	conn, err := amqp.Dial(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	for _, m := range topology {
		if err := ch.ExchangeDeclare(m.Exchange, amqp.ExchangeTopic, true, false, false, false, nil); err != nil {
			return err
		}
		for _, b := range m.Bindings {
			if _, err := ch.QueueDeclare(b.Queue, true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
				return err
			}
			if err := ch.QueueBind(b.Queue, b.Key, b.Exchange, false, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
