package gcppubsub

import (
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/holdfast-mq/holdfast/broker"
)

// reader is a session that only reads, of a source with a policy or without.
func reader(counted bool) *session {
	s := &session{broker: &Broker{names: names{"p", ""}}, source: found{source: source{queue: "orders"}, topic: "projects/p/topics/orders"}}
	if counted {
		s.source.policy = &pubsubpb.DeadLetterPolicy{MaxDeliveryAttempts: 100}
	}
	return s
}

func received(t testing.TB, counter int32, stamp *broker.Capture) *pubsubpb.ReceivedMessage {
	t.Helper()
	m := &pubsubpb.PubsubMessage{Data: []byte("a"), Attributes: map[string]string{"own": "kept"}}
	if stamp != nil {
		var err error
		if m, err = captured(m, stamp); err != nil {
			t.Fatal(err)
		}
	}
	return &pubsubpb.ReceivedMessage{Message: m, AckId: "ack", DeliveryAttempt: counter}
}

func TestDelivery_counts_what_the_broker_counts(t *testing.T) {
	t.Parallel()
	stamp := &broker.Capture{ID: "id", Attempt: 3, Lap: 1, Crashes: 2, Origin: broker.Origin{Queue: "orders"}}
	for _, c := range []struct {
		name             string
		counted          bool
		counter          int32
		stamp            *broker.Capture
		attempt, crashes int
		redelivered      bool
	}{
		{"a first delivery", true, 1, nil, 1, 0, false},
		{"a third", true, 3, nil, 3, 0, true},
		{"no count in this delivery", true, 0, nil, 1, 0, false},
		{"a negative count", true, -1, nil, 1, 0, false},
		{"a copy that has come back", true, 1, stamp, 3, 2, false},
		{"the same for the third time", true, 3, stamp, 5, 2, true},
		{"no policy", false, 0, nil, 1, 0, false},
		{"a copy without a policy", false, 0, stamp, 3, 2, false},
		{"a policy that may not be read", false, 4, stamp, 3, 2, true},
	} {
		d := newDelivery(reader(c.counted), received(t, c.counter, c.stamp), flowSource)
		if d.message.Attempt != c.attempt || d.facts.Crashes != c.crashes || d.facts.Redelivered != c.redelivered {
			t.Errorf("%s: attempt %d, %+v", c.name, d.message.Attempt, d.facts)
		}
	}
}

func TestDelivery_of_a_count_allocates_nothing_for_it(t *testing.T) {
	s := reader(true)
	allocations := func(counter int32) float64 {
		r := received(t, counter, nil)
		return testing.AllocsPerRun(1000, func() { newDelivery(s, r, flowSource) })
	}
	if without, with := allocations(0), allocations(5); with > without {
		t.Errorf("%v allocations with a count, and %v without", with, without)
	}
}
