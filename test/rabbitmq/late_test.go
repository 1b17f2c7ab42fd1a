package rabbitmq_test

import (
	"context"
	"fmt"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// TestHandlerSlowerThanTheConsumerTimeout lets the broker take a message away
// from a running handler, with what was prefetched beside it. Not parallel:
// the timeout acts on everybody.
func TestHandlerSlowerThanTheConsumerTimeout(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		lowerConsumerTimeout(t, r)
		p := newPlace(t, r)
		p.declare("slow", quorum)
		p.declare("other", quorum)
		const n = 8
		p.fill("slow", n)
		b := p.open()
		ran, redelivered := &runs{}, &runs{}
		var slow *running
		ready := make(chan struct{})
		slow = p.runConsumer(b, holdfast.ConsumerConfig{
			Queue: "slow", Prefetch: 5,
			Handler: func(_ context.Context, m *holdfast.Message) error {
				<-ready
				if m.Redelivered {
					redelivered.add(m)
				}
				if ran.add(m) == 1 && string(m.Body) == "3" {
					slow.wantEvents(holdfast.EventDetached, 1) // longer than the timeout, and the ack is late
				}
				return nil
			},
		})
		close(ready)
		otherRan := &runs{}
		other := p.runConsumer(b, holdfast.ConsumerConfig{
			Queue: "other", Handler: func(_ context.Context, m *holdfast.Message) error {
				otherRan.add(m)
				return nil
			},
		})
		publish := func(i int) {
			p.publish("", "other", amqp.Publishing{Body: []byte(fmt.Sprint(i))})
			other.wantEvents(holdfast.EventDone, i+1)
		}
		publish(0)
		slow.wantEvents(holdfast.EventDetached, 1)
		publish(1)
		slow.wantEvents(holdfast.EventAttached, 2)
		slow.wantEvents(holdfast.EventDone, n)
		publish(2)
		for i := range n {
			body := fmt.Sprint(i)
			if all, again := ran.of(body), redelivered.of(body); all == 0 || all-again > 1 {
				t.Errorf("message %d ran %d times, %d of them told as redelivered", i, all, again)
			}
		}
		if ran.of("3") != 2 {
			t.Errorf("the slow message ran %d times: nothing is proven", ran.of("3"))
		}
		if done := len(slow.of(holdfast.EventDone)); done != n {
			t.Errorf("%d of %d are done", done, n)
		}
		if gone := other.of(holdfast.EventDetached); len(gone) > 0 {
			t.Errorf("the other consumer was disturbed: %v", gone[0].Err)
		}
		p.wantDepth("slow", 0)
		p.wantDepth("other", 0)
	})
}
