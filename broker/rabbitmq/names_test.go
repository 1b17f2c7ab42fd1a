package rabbitmq

import (
	"testing"
	"time"
)

func TestNames(t *testing.T) {
	t.Parallel()
	n := names{"billing-service.holdfast"}
	for got, want := range map[string]string{
		n.exchange():                     "billing-service.holdfast",
		n.back():                         "billing-service.holdfast.return",
		n.strays():                       "billing-service.holdfast.unrouted",
		n.rung(1500 * time.Millisecond):  "billing-service.holdfast.retry.1500",
		n.parked("orders", false):        "orders.parked",
		n.parked("orders", true):         "billing-service.holdfast.parked",
		n.parked("amq.gen-x", false):     "billing-service.holdfast.parked",
		holdName("orders"):               "orders.hold",
		n.replayExchange("orders"):       "billing-service.holdfast.replay.orders",
		names{DefaultNamespace}.back():   "holdfast.return",
		names{"h"}.parked("amqx", false): "amqx.parked",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	for queue, want := range map[string][2]string{
		"orders":    {"orders.parked", "svc.parked"},
		"amq.gen-x": {"svc.parked", "svc.parked"},
	} {
		for i, shared := range []bool{false, true} {
			b, err := Open(t.Context(), Config{URL: "amqp://127.0.0.1:1", Namespace: "svc", SharedParked: shared})
			if err != nil {
				t.Fatal(err)
			}
			name, others := b.ParkedPlace(queue)
			if name != want[i] || others != (name == "svc.parked") {
				t.Errorf("%s parks in %s, shared %v", queue, name, others)
			}
			if hold := b.HoldPlace(queue); hold != queue+".hold" {
				t.Errorf("%s is held in %s", queue, hold)
			}
			b.Close()
		}
	}
}
