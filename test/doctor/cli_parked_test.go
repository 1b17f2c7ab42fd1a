package doctor

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// TestOldParkedMessage: the broker does not know when it was parked, so that the
// doctor has to look, and to leave it where it is.
func TestOldParkedMessage(t *testing.T) {
	const oldParked, queue = "HF023", "orders.parked"
	onEachClinic(t, func(c *clinic) {
		if _, err := c.ch.QueueDeclare(queue, true, false, false, false, nil); err != nil {
			t.Fatal(err)
		}
		c.park(queue, time.Now().Add(-72*time.Hour))
		// The numbers of the management API are seconds old.
		testenv.Eventually(t, within, "the old message is found", func() bool {
			return c.examine("--only", oldParked).code == 1
		})
		c.want(c.examine("--only", oldParked), 1, queue, "3 days")
		if q, err := c.ch.QueueDeclarePassive(queue, true, false, false, false, nil); err != nil || q.Messages != 1 {
			t.Errorf("after the looks %d messages wait: %v", q.Messages, err)
		}
	})
}

// park publishes a message as Holdfast parks it.
func (c *clinic) park(queue string, failedAt time.Time) {
	c.t.Helper()
	m := amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte("{}"), Headers: amqp.Table{}}
	capture := broker.Capture{
		ID: "capture-1", Attempt: 5, Reason: broker.ReasonExhausted, Error: "bank down", Origin: broker.Origin{Key: "orders", Queue: "orders"},
		FirstFailedAt: failedAt, FailedAt: failedAt,
	}
	capture.Each(func(name string, v any) { m.Headers[name] = v })
	if err := c.ch.PublishWithContext(c.t.Context(), "", queue, true, false, m); err != nil {
		c.t.Fatal(err)
	}
}
