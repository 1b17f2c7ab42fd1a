package jetstream

import (
	"math"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

// TestCount: what JetStream counted is evidence of crashes, on top of the
// stamp, and never an attempt.
func TestCount(t *testing.T) {
	t.Parallel()
	stamped := &broker.Capture{Attempt: 3, Crashes: 2}
	for _, c := range []struct {
		delivered        uint64
		capture          *broker.Capture
		attempt, crashes int
	}{
		{0, nil, 1, 0},
		{1, nil, 1, 0},
		{2, nil, 1, 1},
		{5, nil, 1, 4},
		{1, stamped, 3, 2},
		{4, stamped, 3, 5},
		{math.MaxUint64, nil, 1, math.MaxInt32 - 1},
		{math.MaxUint64, stamped, 3, math.MaxInt32},
	} {
		if attempt, crashes := count(c.delivered, c.capture); attempt != c.attempt || crashes != c.crashes {
			t.Errorf("%d deliveries of %+v: attempt %d, crashes %d", c.delivered, c.capture, attempt, crashes)
		}
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	c := &broker.Capture{Origin: broker.Origin{Exchange: "FIRST", Key: "first.a", Queue: "FIRST/c"}}
	route := nats.Header{headerStream: {"ROUTED"}, headerKey: {"routed.a"}}
	for what, o := range map[string]struct {
		header  nats.Header
		capture *broker.Capture
		from    flow
		want    broker.Origin
	}{
		"fresh":               {nil, nil, flowSource, broker.Origin{Exchange: "S", Key: "s.a", Queue: "S/c"}},
		"fresh with a header": {route, nil, flowSource, broker.Origin{Exchange: "S", Key: "s.a", Queue: "S/c"}},
		"captured":            {nil, c, flowSource, c.Origin},
		"back":                {route, c, flowBack, c.Origin},
		"replayed":            {route, nil, flowBack, broker.Origin{Exchange: "ROUTED", Key: "routed.a", Queue: "S/c"}},
	} {
		if got := origin(o.header, o.capture, "S", "s.a", "S/c", o.from); got != o.want {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestID: a copy that is made again has the id of the first; another message,
// or the same from a stream or a consumer that was made anew, has another.
func TestID(t *testing.T) {
	t.Parallel()
	of := func(from flow, seq uint64, stored int64, created string) string {
		s := &session{source: found{created: created}}
		return (&delivery{session: s, flow: from, seq: seq, stored: stored}).id()
	}
	once := of(flowSource, 5, 1000, "c")
	if again := of(flowSource, 5, 1000, "c"); again != once {
		t.Errorf("it changes from %s to %s", once, again)
	}
	seen := map[string]bool{}
	for _, id := range []string{
		once, of(flowBack, 5, 1000, "c"), of(flowSource, 6, 1000, "c"), of(flowSource, 5, 1001, "c"), of(flowSource, 5, 1000, "d"),
	} {
		if seen[id] || !validName(id) {
			t.Errorf("%s is not an id, or there twice", id)
		}
		seen[id] = true
	}
}
