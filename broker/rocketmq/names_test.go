package rocketmq

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestParseSource(t *testing.T) {
	for queue, ok := range map[string]bool{
		"T/g": true, "my-topic_1/group|x": true, "": false, "T": false, "T/": false, "/g": false, "T/g/x": false,
		"%RETRY%g/g": false, "T/g.hold": false, "T x/g": false, strings.Repeat("t", 128) + "/g": false,
	} {
		s, err := parseSource(queue)
		if (err == nil) != ok || ok && s.String() != queue {
			t.Errorf("%.40q: %v, %v", queue, s, err)
		}
		if err != nil && !errors.Is(err, broker.ErrConfig) {
			t.Errorf("%.40q: %v", queue, err)
		}
	}
}

// TestNames_are_told_apart: two sources never share a place, however their
// names are put together.
func TestNames_are_told_apart(t *testing.T) {
	n := newNames("billing.holdfast")
	long := strings.Repeat("t", 100)
	seen := map[string]source{}
	for _, s := range []source{
		{"a_b", "c"}, {"a", "b_c"}, {"a", "b"}, {long, "billing-" + long}, {long, "shipping-" + long}, {long, "g"},
	} {
		name := n.parked(s)
		if other, taken := seen[name]; taken {
			t.Errorf("%v and %v park in %s", s, other, name)
		}
		seen[name] = s
		for _, name := range []string{name, n.gone(name)} {
			if len(name) > maxTopic || !validName(strings.ReplaceAll(name, "%", "")) {
				t.Errorf("%v: a broker would not take %s", s, name)
			}
		}
	}
	if name := n.parked(source{"orders", "billing"}); name != "billing_holdfast_parked_orders%billing" {
		t.Error(name)
	}
}
