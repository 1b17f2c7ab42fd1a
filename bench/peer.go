package main

import (
	"context"
	"errors"

	amqp "github.com/rabbitmq/amqp091-go"
)

const consumerTag = "peer"

var errEnded = errors.New("the deliveries ended before the last message")

// consuming is what every hand-written loop starts from.
type consuming struct {
	conn       *amqp.Connection
	ch         *amqp.Channel
	deliveries <-chan amqp.Delivery
}

func consume(ctx context.Context, url string, prefetch int) (*consuming, error) {
	conn, err := dial(ctx, url)
	if err != nil {
		return nil, err
	}
	p := &consuming{conn: conn}
	if p.ch, err = conn.Channel(); err == nil {
		err = p.ch.Qos(prefetch, 0, false)
	}
	if err == nil {
		p.deliveries, err = p.ch.Consume(source, consumerTag, false, false, false, false, nil)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// finish stops the clock after the last acknowledgement and closes in order.
// The cancel makes sure of the acknowledgements: a channel of a quorum queue
// holds some back when they come fast, and a close alone drops them, so that
// acknowledged messages are in the queue again.
func (p *consuming) finish(c *clock) error {
	c.stop()
	return errors.Join(p.ch.Cancel(consumerTag, false), p.ch.Close())
}

func (p *consuming) close() { _ = p.conn.Close() }
