package rabbitmq_test

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// TestCopiesReachNoOtherSubscriber takes messages of a fanout exchange through
// a rung, a hold and a replay: the exchange's other queue has each once.
func TestCopiesReachNoOtherSubscriber(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, _ string) {
		p.declare("audit", nil)
		p.bind("shop", "fanout", "", "orders", "audit")
		const rung = 50 * time.Millisecond
		b := p.open()
		s := p.session(b, broker.Subscription{Queue: "orders", Rungs: []time.Duration{rung}, Hold: 100 * time.Millisecond})
		p.consume(s, 1)
		back := map[string]func(d broker.Delivery){
			"0": func(d broker.Delivery) {
				p.mustSettle(d, broker.Settlement{Fate: broker.FateDelay, Delay: rung, Capture: capture(d)})
			},
			"1": func(d broker.Delivery) {
				p.mustSettle(d, broker.Settlement{Fate: broker.FateHold, Capture: capture(d)})
			},
			"2": func(d broker.Delivery) {
				p.mustSettle(d, broker.Settlement{Fate: broker.FateRelease, Capture: capture(d)})
			},
			"3": func(d broker.Delivery) {
				p.mustSettle(d, broker.Settlement{Fate: broker.FatePark, Capture: capture(d)})
				p.wantDepth("orders.parked", 1)
				to := broker.Target{Queue: "orders", Key: "order.new"}
				if sifted, err := b.Sift(p.Context(), "orders.parked", broker.SiftOptions{}, copyTo(to)); err != nil || sifted.Copied != 1 {
					p.Fatalf("replay: %+v, %v", sifted, err)
				}
			},
		}
		for body, away := range back {
			p.publish("shop", "order.new", amqp.Publishing{Body: []byte(body)})
			away(p.receive(s))
			d := p.receive(s)
			if got := string(d.Message().Body); got != body {
				p.Errorf("%s came back as %s", body, got)
			}
			p.mustSettle(d, broker.Settlement{Fate: broker.FateDone})
		}
		p.wantDepth("orders", 0)
		// The last copy was consumed: what it brought elsewhere is there by now.
		seen := map[int]int{}
		for _, n := range p.numbers("audit") {
			seen[n]++
		}
		for n := range len(back) {
			if seen[n] != 1 {
				p.Errorf("the other subscriber has message %d %d times", n, seen[n])
			}
		}
	})
}
