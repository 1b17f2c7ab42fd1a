package main

import (
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// longRung is a delay that nothing returns from while the clock runs.
const longRung = time.Hour

// target is where a hand-written loop puts its copies: the same kind of
// exchange and queue as the driver's.
type target struct {
	exchange string
	key      string
	queue    string
	declare  func(ch *amqp.Channel, version string) error
}

// parkedTarget is a quorum queue behind a direct exchange.
func parkedTarget() target {
	t := target{exchange: "peer", key: "peer.parked", queue: "peer.parked"}
	t.declare = func(ch *amqp.Channel, version string) error {
		return declare(ch, t, amqp.ExchangeDirect, withoutLimit(version))
	}
	return t
}

// withoutLimit are the arguments of a queue for good. RabbitMQ 3 takes a limit
// of -1 and drops by it.
func withoutLimit(version string) amqp.Table {
	args := amqp.Table{"x-queue-type": "quorum"}
	if !strings.HasPrefix(version, "3.") {
		args["x-delivery-limit"] = int64(-1)
	}
	return args
}

// rungTarget is a quorum queue behind a fanout, which dead-letters at least
// once to an exchange that leads back to the source.
func rungTarget() target {
	const back = "peer.return"
	t := target{exchange: "peer.retry", key: source, queue: "peer.retry"}
	t.declare = func(ch *amqp.Channel, _ string) error {
		if err := ch.ExchangeDeclare(back, amqp.ExchangeDirect, true, false, false, false, nil); err != nil {
			return err
		}
		if err := ch.QueueBind(source, source, back, false, nil); err != nil {
			return err
		}
		return declare(ch, t, amqp.ExchangeFanout, amqp.Table{
			"x-queue-type":           "quorum",
			"x-message-ttl":          longRung.Milliseconds(),
			"x-dead-letter-exchange": back,
			"x-dead-letter-strategy": "at-least-once",
			"x-overflow":             "reject-publish",
		})
	}
	return t
}

func declare(ch *amqp.Channel, t target, kind string, args amqp.Table) error {
	if err := ch.ExchangeDeclare(t.exchange, kind, true, false, false, false, nil); err != nil {
		return err
	}
	if _, err := ch.QueueDeclare(t.queue, true, false, false, false, args); err != nil {
		return err
	}
	return ch.QueueBind(t.queue, t.key, t.exchange, false, nil)
}
