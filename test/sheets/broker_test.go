package sheets

import (
	amqp "github.com/rabbitmq/amqp091-go"
)

// source makes the queue that the sheets are about.
func (d *desk) source(args amqp.Table) {
	d.Helper()
	d.queue(queue, args)
}

func (d *desk) queue(name string, args amqp.Table) {
	d.Helper()
	table := amqp.Table{"x-queue-type": "quorum"}
	for k, v := range args {
		table[k] = v
	}
	_, err := d.ch.QueueDeclare(name, true, false, false, false, table)
	d.must(err)
}

func (d *desk) exchange(name, kind string) {
	d.Helper()
	d.must(d.ch.ExchangeDeclare(name, kind, true, false, false, false, nil))
}

func (d *desk) bind(queue, key, exchange string) {
	d.Helper()
	d.must(d.ch.QueueBind(queue, key, exchange, false, nil))
}

// publish sends a message and waits until the broker has it.
func (d *desk) publish(exchange, key, id, body string) {
	d.Helper()
	c, err := d.ch.PublishWithDeferredConfirm(exchange, key, true, false,
		amqp.Publishing{MessageId: id, Body: []byte(body), DeliveryMode: amqp.Persistent})
	d.must(err)
	if ok, err := c.WaitContext(d.Context()); err != nil || !ok {
		d.Fatalf("the broker did not store the message: %v", err)
	}
}

// depth is how many messages are ready in a queue.
func (d *desk) depth(name string) int {
	d.Helper()
	q, err := d.ch.QueueDeclarePassive(name, true, false, false, false, nil)
	d.must(err)
	return q.Messages
}

// consumers is how many consumers a queue has.
func (d *desk) consumers(name string) int {
	d.Helper()
	q, err := d.ch.QueueDeclarePassive(name, true, false, false, false, nil)
	d.must(err)
	return q.Consumers
}
