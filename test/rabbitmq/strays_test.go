package rabbitmq_test

import (
	"context"
	"errors"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

func (p *place) deleteQueue(queue string) {
	p.Helper()
	if _, err := p.plain.QueueDelete(queue, false, false, false); err != nil {
		p.Fatal(err)
	}
}

// TestStray deletes the source while a rung holds its message: it ends where
// an operator finds it, with its capture, and nobody has to make anything
// first.
func TestStray(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, _ string) {
		const delay = 500 * time.Millisecond
		s := p.session(p.open(), broker.Subscription{Queue: "orders", Rungs: []time.Duration{delay}})
		p.publish("", "orders", amqp.Publishing{Body: []byte("a"), Headers: amqp.Table{"k": "v"}})
		p.consume(s, 1)
		d := p.receive(s)
		c := capture(d)
		p.mustSettle(d, broker.Settlement{Fate: broker.FateDelay, Delay: delay, Capture: c})
		p.deleteQueue("orders")
		got := p.get("holdfast.unrouted")
		if string(got.Body) != "a" || got.RoutingKey != "orders" || got.Headers["k"] != "v" {
			p.Errorf("the stray is %+v", got)
		}
		read, err := broker.ReadCapture(func(name string) (any, bool) {
			v, ok := got.Headers[name]
			return v, ok
		}, "orders")
		if err != nil || read == nil || read.ID != c.ID || read.Attempt != c.Attempt || read.Error != c.Error || read.Origin != c.Origin {
			p.Errorf("its capture is %+v, %v", read, err)
		}
	})
}

// TestHoldQueueDeletedUnderTheSession: the consumer comes back with a new
// session, and that makes the hold again.
func TestHoldQueueDeletedUnderTheSession(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, _ string) {
		w := p.runConsumer(p.open(), holdfast.ConsumerConfig{
			Queue: "orders", Policy: holdfast.Policy{Hold: time.Second},
			Handler: func(_ context.Context, m *holdfast.Message) error {
				if m.Lap == 0 {
					return holdfast.Hold(errors.New("down"))
				}
				return nil
			},
		})
		w.wantEvents(holdfast.EventAttached, 1)
		p.deleteQueue("orders.hold")
		w.wantEvents(holdfast.EventDetached, 1)
		if err := w.of(holdfast.EventDetached)[0].Err; !errors.Is(err, broker.ErrDetached) {
			p.Errorf("detached for %v", err)
		}
		w.wantEvents(holdfast.EventAttached, 2)
		p.wantDepth("orders.hold", 0) // it exists
		p.publish("", "orders", amqp.Publishing{Body: []byte("a")})
		w.wantEvents(holdfast.EventReturned, 1)
		w.wantEvents(holdfast.EventDone, 1)
	})
}

// TestRungQueueDeletedUnderTheSession: the next copy for it is routed nowhere,
// stays where it was, and is delayed once the rung is made again.
func TestRungQueueDeletedUnderTheSession(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, _ string) {
		ran := &runs{}
		w := p.runConsumer(p.open(), holdfast.ConsumerConfig{
			Queue: "orders", Policy: holdfast.Policy{Ladder: []time.Duration{50 * time.Millisecond}},
			Handler: func(_ context.Context, m *holdfast.Message) error {
				if ran.add(m); m.Attempt == 1 {
					return errors.New("not yet")
				}
				return nil
			},
		})
		p.publish("", "orders", amqp.Publishing{Body: []byte("0")})
		w.wantEvents(holdfast.EventDone, 1)
		p.deleteQueue("holdfast.retry.50")
		p.publish("", "orders", amqp.Publishing{Body: []byte("1")})
		w.wantEvents(holdfast.EventUnsettled, 1)
		if err := w.of(holdfast.EventUnsettled)[0].Err; !errors.Is(err, broker.ErrUnrouted) {
			p.Errorf("unsettled for %v", err)
		}
		w.wantEvents(holdfast.EventDone, 2)
		if ran.of("1") != 2 {
			p.Errorf("it ran %d times", ran.of("1"))
		}
		if gone := w.of(holdfast.EventDetached); len(gone) > 0 {
			p.Errorf("the session was ended: %v", gone[0].Err)
		}
	})
}

// TestRestartDuringAHold: a hold is in the broker, and outlives it. It has no
// rungs: when RabbitMQ 3.10 loses one (with the test's virtual host) that it
// is still starting, its at-least-once dead-lettering ends for the whole node,
// until the next restart.
func TestRestartDuringAHold(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", quorum)
		const hold = 8 * time.Second
		ran := &runs{}
		w := p.runConsumer(p.open(), holdfast.ConsumerConfig{
			Queue: "orders", Policy: holdfast.Policy{Ladder: []time.Duration{}, Hold: hold},
			Handler: func(_ context.Context, m *holdfast.Message) error {
				if ran.add(m); m.Lap == 0 {
					return holdfast.Hold(errors.New("down"))
				}
				return nil
			},
		})
		p.publish("", "orders", amqp.Publishing{Body: []byte("a")})
		w.wantEvents(holdfast.EventHeld, 1)
		r.Restart(t)
		p.connect()
		w.wantEvents(holdfast.EventDone, 1)
		held, done := w.of(holdfast.EventHeld)[0], w.of(holdfast.EventDone)[0]
		if waited := done.Time.Sub(held.Time); waited < hold-100*time.Millisecond {
			t.Errorf("it was back after %v", waited)
		}
		if len(w.of(holdfast.EventDetached)) == 0 {
			t.Error("the consumer saw no restart: nothing is proven")
		}
		if last := ran.last["a"]; last.Lap != 1 || last.Attempt != 1 {
			t.Errorf("it came back as attempt %d, lap %d", last.Attempt, last.Lap)
		}
		p.wantDepth("orders.hold", 0)
		p.wantDepth("orders", 0)
	})
}
