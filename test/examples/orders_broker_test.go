package examples

import (
	"context"
	"fmt"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// tapped has a copy of whatever is published.
const tapped = "test.tap"

var (
	// consumed are the queues of the example, by the type of what each gets,
	// which is also the routing key.
	consumed = map[string]string{
		"orders.placed.v1":     "billing.orders.placed.v1",
		"payments.received.v1": "billing.payments.received.v1",
		"billing.invoiced.v1":  "accounts.billing.invoiced.v1",
	}
	exchanges = map[string]string{"orders": "orders.placed.v1", "payments": "payments.received.v1", "billing": "billing.invoiced.v1"}
)

// channel is one in confirm mode, for as long as use runs.
func (s *shop) channel(t *testing.T, use func(*amqp.Channel) error) {
	t.Helper()
	conn, err := amqp.Dial(s.amqp)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ch, err := conn.Channel()
	if err == nil {
		err = ch.Confirm(false)
	}
	if err == nil {
		err = use(ch)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tap binds a queue of the test's own, for which the service's exchanges are
// declared as the service does it.
func (s *shop) tap(t *testing.T) {
	t.Helper()
	s.channel(t, func(ch *amqp.Channel) error {
		if _, err := ch.QueueDeclare(tapped, true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
			return err
		}
		for exchange, key := range exchanges {
			if err := ch.ExchangeDeclare(exchange, amqp.ExchangeTopic, true, false, false, false, nil); err != nil {
				return err
			}
			if err := ch.QueueBind(tapped, key, exchange, false, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// publish publishes to queues, and returns when the broker has all of it.
func (s *shop) publish(t *testing.T, messages []amqp.Publishing, queue func(amqp.Publishing) string) {
	t.Helper()
	s.channel(t, func(ch *amqp.Channel) error {
		var confirms []*amqp.DeferredConfirmation
		for _, m := range messages {
			m.DeliveryMode = amqp.Persistent
			c, err := ch.PublishWithDeferredConfirm("", queue(m), false, false, m)
			if err != nil {
				return err
			}
			confirms = append(confirms, c)
		}
		for i, c := range confirms {
			if !c.Wait() {
				return fmt.Errorf("the broker has not taken %s", messages[i].MessageId)
			}
		}
		return nil
	})
}

// publishMalformed is a producer with a bug.
func (s *shop) publishMalformed(t *testing.T) {
	t.Helper()
	var all []amqp.Publishing
	for n := range malformed {
		all = append(all, amqp.Publishing{MessageId: fmt.Sprintf("malformed-%d", n), Type: "orders.placed.v1", Body: []byte(`{"id":`)})
	}
	s.publish(t, all, ofType)
}

// ofType is the queue in which a message of its type arrives.
func ofType(m amqp.Publishing) string { return consumed[m.Type] }

// publishAllAgain sends a second copy of everything to its consumer, as a
// broker may that forgot an acknowledgement, and returns how many. Of each id
// at most one publication came without a mark.
func (s *shop) publishAllAgain(t *testing.T) int {
	t.Helper()
	all := s.drainTap(t)
	plain := map[string]int{}
	for _, m := range all {
		if _, marked := m.Headers[broker.HeaderOutboxRepeat]; marked {
			s.repeats++
		} else if plain[m.MessageId]++; plain[m.MessageId] > 1 {
			t.Errorf("message %s was published again without a mark", m.MessageId)
		}
	}
	s.publish(t, all, ofType)
	return len(all)
}

func (s *shop) drainTap(t *testing.T) (all []amqp.Publishing) {
	t.Helper()
	s.channel(t, func(ch *amqp.Channel) error {
		for {
			d, found, err := ch.Get(tapped, true)
			if err != nil || !found {
				return err
			}
			all = append(all, amqp.Publishing{
				MessageId: d.MessageId, Type: d.Type, ContentType: d.ContentType, Headers: d.Headers, Body: d.Body,
			})
		}
	})
	return all
}

// waiting is how many messages are in the queues of the consumers.
func (s *shop) waiting(t *testing.T) (n int) {
	t.Helper()
	for _, queue := range consumed {
		d, err := s.rmq.Depth(context.Background(), queue)
		if err != nil {
			t.Fatal(err)
		}
		n += d.Messages
	}
	return n
}

// parked counts the messages that are parked, by why. A second invoice of an
// order, which the database would have refused, were one of these. A kill in the
// middle of parking leaves two copies of one message.
func (s *shop) parked(t *testing.T) map[broker.Reason]int {
	t.Helper()
	why := map[string]broker.Reason{}
	for _, queue := range consumed {
		_, err := s.rmq.Sift(context.Background(), queue+".parked", broker.SiftOptions{}, func(_ context.Context, m *broker.Stored) (broker.Action, error) {
			why[m.Message.ID] = m.Capture.Reason
			if m.Capture.Reason != broker.ReasonMalformed {
				t.Logf("parked: %s %s: %s", m.Message.ID, m.Capture.Reason, m.Capture.Error)
			}
			return broker.Action{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	counts := map[broker.Reason]int{}
	for _, reason := range why {
		counts[reason]++
	}
	return counts
}
