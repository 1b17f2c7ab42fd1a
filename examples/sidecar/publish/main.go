// Publish makes the queue that it is given and puts six orders into it, for
// the sidecar's targets to handle. It knows nothing of Holdfast: it stands for
// the owner of the queue and for the producer.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"

	amqp "github.com/rabbitmq/amqp091-go"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: publish QUEUE (the broker is $AMQP_URL)")
	}
	if err := run(os.Getenv("AMQP_URL"), os.Args[1]); err != nil {
		log.Fatal(err)
	}
	fmt.Println("published 6 orders to", os.Args[1])
}

func run(url, queue string) error {
	conn, err := amqp.Dial(url)
	if err != nil {
		return errors.New("AMQP_URL does not lead to a broker that takes us") // its own text may quote the password
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
		`{"id":1,"amount":9.99}`, `{"id":2,"amount":5000}`, `{"id":3,"amount":-1}`, `{"id":4,"amount":`, `{"id":5,"amount":5}`, `{"id":6,"amount":1}`,
	} {
		id := fmt.Sprintf("order-%d", i+1)
		headers := amqp.Table{"test": i == 5} // the last is a test order, which nobody is to pay
		if err := publish(ch, queue, amqp.Publishing{MessageId: id, Headers: headers, Body: []byte(body)}); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	return nil
}

// publish returns once the broker has the message.
func publish(ch *amqp.Channel, queue string, m amqp.Publishing) error {
	m.ContentType, m.DeliveryMode = "application/json", amqp.Persistent
	confirm, err := ch.PublishWithDeferredConfirm("", queue, true, false, m)
	if err != nil {
		return err
	}
	if !confirm.Wait() {
		return errors.New("the broker did not confirm it")
	}
	return nil
}
