package demo

import (
	"context"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/triage"
)

// Stage is where the story is played: a broker with one source queue.
type Stage interface {
	broker.Broker
	broker.Sifter
	broker.Places

	// Queue is the source queue. It is there.
	Queue() string

	// Send publishes one order and returns when the broker has it. Sent again
	// soon, an id that the broker has already is no second order.
	Send(ctx context.Context, id string, body []byte) error

	// Underway is how many messages will reach the service by themselves:
	// those that wait in the source, are in a consumer's hand, or wait on a
	// rung or in a hold.
	Underway(ctx context.Context) (int, error)
}

// parkedPlace is where the service's orders are parked.
func parkedPlace(s Stage) triage.Place {
	name, shared := s.ParkedPlace(s.Queue())
	if shared {
		return triage.Place{Queue: name, Of: s.Queue(), Strict: true}
	}
	return triage.Place{Queue: name}
}
