package holdfast

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
)

func TestFindings(t *testing.T) {
	t.Parallel()
	able := broker.Capabilities{Delay: true, Hold: true, Attempts: true}
	with := func(change func(*broker.Capabilities)) broker.Capabilities {
		caps := able
		change(&caps)
		return caps
	}
	limit := func(n int) func(*broker.Capabilities) { return func(c *broker.Capabilities) { c.NativeLimit = n } }
	two := Policy{Ladder: []time.Duration{time.Second, time.Second}} // a budget of 3
	for _, tc := range []struct {
		name   string
		policy Policy
		caps   broker.Capabilities
		want   []FindingKind
	}{
		{"nothing to say", two, able, nil},
		{"a limit that is unknown", two, with(limit(0)), nil},
		{"a limit above the budget", two, with(limit(4)), nil},
		{"a limit at the budget", two, with(limit(3)), []FindingKind{FindingNativeFirst}},
		{"a limit below the budget", two, with(limit(1)), []FindingKind{FindingNativeFirst}},
		{"a limit races the crash bound where crashes are counted", Policy{Crashes: 5}, with(func(c *broker.Capabilities) {
			c.Attempts, c.NativeLimit = false, 5
		}), []FindingKind{FindingNativeFirst}},
		{"and not the attempts", Policy{Crashes: 3}, with(func(c *broker.Capabilities) {
			c.Attempts, c.NativeLimit = false, 4
		}), nil},
		{"no delay and a ladder", two, with(func(c *broker.Capabilities) { c.Delay = false }), []FindingKind{FindingSenseless}},
		{"no delay and no ladder", Policy{Ladder: []time.Duration{}}, with(func(c *broker.Capabilities) { c.Delay = false }), nil},
		{"no hold and exhausted holds", Policy{Exhausted: ExhaustedHold}, with(func(c *broker.Capabilities) { c.Hold = false }), []FindingKind{FindingSenseless}},
		{"no count", two, with(func(c *broker.Capabilities) { c.Unenforceable = "no policy" }), []FindingKind{FindingUnenforceable}},
		{"all at once", Policy{Exhausted: ExhaustedHold}, broker.Capabilities{Attempts: true, NativeLimit: 1, Unenforceable: "no policy"}, []FindingKind{
			FindingSenseless, FindingSenseless, FindingNativeFirst, FindingUnenforceable,
		}},
	} {
		got := Findings(tc.policy, "orders", tc.caps)
		var kinds []FindingKind
		for _, f := range got {
			kinds = append(kinds, f.Kind)
			if !strings.HasPrefix(f.Text, "orders: ") {
				t.Errorf("%s: the text does not name the queue: %s", tc.name, f.Text)
			}
		}
		if len(kinds) != len(tc.want) {
			t.Errorf("%s: %v, not %v", tc.name, kinds, tc.want)
			continue
		}
		for i := range kinds {
			if kinds[i] != tc.want[i] {
				t.Errorf("%s: %v, not %v", tc.name, kinds, tc.want)
			}
		}
	}
}

func TestFindingNamesBothLimitsAndTheEffectiveOne(t *testing.T) {
	t.Parallel()
	caps := broker.Capabilities{Delay: true, Hold: true, Attempts: true, NativeLimit: 2}
	text := Findings(Policy{Ladder: []time.Duration{time.Second, time.Second}}, "orders", caps)[0].Text
	for _, part := range []string{"after 2 deliveries", "allows 3 attempts", "effective limit is 2"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
}

// TestFindingsAreToldOnce lets a consumer attach twice.
func TestFindingsAreToldOnce(t *testing.T) {
	t.Parallel()
	b := membroker.New(membroker.WithoutDelay)
	b.DeclareQueue("orders")
	var mu sync.Mutex
	warnings, attached := 0, make(chan struct{}, 2)
	c, err := NewConsumer(b, ConsumerConfig{
		Queue: "orders", Handler: func(context.Context, *Message) error { return nil },
		Observer: ObserverFunc(func(e Event) {
			switch e.Kind {
			case EventWarning:
				mu.Lock()
				warnings++
				mu.Unlock()
			case EventAttached:
				attached <- struct{}{}
			}
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	<-attached
	b.Cut()
	<-attached
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if warnings != 1 {
		t.Errorf("told %d times", warnings)
	}
}
