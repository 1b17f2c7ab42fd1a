package main

import (
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// publishOrders stands for the rest of the company: the owner who declares the
// queue, which Holdfast never touches, and the producer, who knows nothing of
// Holdfast. It returns the ids of what it published, which no other run has.
func publishOrders(url string) (ids []string, err error) {
	conn, err := amqp.Dial(url)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return nil, err
	}
	if _, err := ch.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
		return nil, err
	}
	if err := ch.Confirm(false); err != nil {
		return nil, err
	}
	run := time.Now().Format("150405")
	for i, body := range []string{
		`{"ID":1,"Amount":9.99}`, `{"ID":2,"Amount":5000}`, `{"ID":3,"Amount":-1}`, `{"ID":4,"Amount":`, `{"ID":5,"Amount":5}`,
	} {
		id := fmt.Sprintf("order-%s-%d", run, i+1)
		if err := publish(ch, id, body); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// publish returns once the broker has the order.
func publish(ch *amqp.Channel, id, body string) error {
	confirm, err := ch.PublishWithDeferredConfirm("", queue, true, false, amqp.Publishing{
		MessageId: id, ContentType: "application/json", DeliveryMode: amqp.Persistent, Body: []byte(body),
	})
	if err != nil {
		return err
	}
	if !confirm.Wait() {
		return errors.New("the broker did not confirm " + id)
	}
	return nil
}
