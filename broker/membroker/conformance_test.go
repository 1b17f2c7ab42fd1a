package membroker_test

import (
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/brokertest"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/test/conformance/memory"
)

// TestConformance runs the suite on the full broker and on poorer ones, so
// that the suite's negative direction is tested as well.
func TestConformance(t *testing.T) {
	variants := []struct {
		name string
		opts []membroker.Option
		caps func(*broker.Capabilities)
	}{
		{"full", nil, func(*broker.Capabilities) {}},
		{"like_a_classic_queue", options(membroker.WithoutCounts, membroker.WithoutFreeRelease), func(c *broker.Capabilities) {
			c.Counts, c.FreeRelease = false, false
		}},
		{"like_a_quorum_queue_of_rabbitmq_3", options(membroker.WithoutFreeRelease), func(c *broker.Capabilities) {
			c.FreeRelease = false
		}},
		{"with_narrow_headers", options(membroker.WithMaxHeaders(16 << 10)), func(c *broker.Capabilities) {
			c.MaxHeaders = 16 << 10
		}},
		{"counting_attempts", options(membroker.WithAttempts), func(c *broker.Capabilities) {
			c.Attempts, c.Exact, c.Counts, c.FreeRelease = true, true, false, false
		}},
		{"poor", options(
			membroker.WithoutDelay, membroker.WithoutHold, membroker.WithoutReplies, membroker.WithoutStamp,
		), func(c *broker.Capabilities) {
			c.Delay, c.Hold, c.Replies, c.Stamp = false, false, false, false
		}},
	}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			caps := memory.Capabilities()
			v.caps(&caps)
			wantWhole(t, brokertest.Run(t, memory.Env(v.name, membroker.New(v.opts...), caps)))
		})
	}
}

func options(opts ...membroker.Option) []membroker.Option { return opts }

// wantWhole checks that nothing stayed unproven: a case that is not for this
// variant has a case in the other direction.
func wantWhole(t *testing.T, r brokertest.Result) {
	t.Helper()
	if r.Broker == "" || r.Count(brokertest.Passed) == 0 {
		t.Errorf("%s: %d cases passed on broker %q", r.Name, r.Count(brokertest.Passed), r.Broker)
	}
	for _, o := range r.Outcomes {
		if o.Cause == brokertest.NotGiven || o.Cause == brokertest.Skipped {
			t.Errorf("%s/%s was not run: %s", o.Topic, o.Case, o.Why)
		}
	}
}
