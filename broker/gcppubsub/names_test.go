package gcppubsub

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestSource_names_its_places(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ namespace, queue, want, parked string }{
		{"", "orders", "orders", "orders-parked"},
		{"", "projects/p/subscriptions/orders", "orders", "orders-parked"},
		{"", "projects/other/subscriptions/orders", "projects/other/subscriptions/orders", "other-orders-parked"},
		{"", "projects/example.com:shop/subscriptions/orders", "projects/example.com:shop/subscriptions/orders", "example.com.shop-orders-parked"},
		{"billing", "orders", "orders", "billing-orders-parked"},
	} {
		n := names{"p", c.namespace}
		s, err := n.source(c.queue)
		if err != nil || s.queue != c.want {
			t.Errorf("%s: %q, %v", c.queue, s.queue, err)
		}
		if id := n.place(s, parkedSuffix).id; id != c.parked {
			t.Errorf("%s parks in %q, not %q", c.queue, id, c.parked)
		}
	}
}

func TestSource_refuses_what_is_no_subscription(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{
		"", "ab", "1orders", "goog-orders", "a/b", "orders ", "projects/p/topics/orders", "projects//subscriptions/orders",
		"projects/p/subscriptions/", strings.Repeat("a", 256), strings.Repeat("a", 250),
	} {
		if s, err := (names{"p", ""}).source(queue); !errors.Is(err, broker.ErrConfig) {
			t.Errorf("%.40q: %+v, %v", queue, s, err)
		}
	}
}

func TestTopic_is_short_in_its_own_project(t *testing.T) {
	t.Parallel()
	n := names{"p", ""}
	for path, short := range map[string]string{
		"projects/p/topics/orders": "orders", "projects/q/topics/orders": "projects/q/topics/orders", "": "",
	} {
		if got := n.shortTopic(path); got != short {
			t.Errorf("%q is %q, not %q", path, got, short)
		}
	}
	if n.topic("orders") != "projects/p/topics/orders" || n.topic("projects/q/topics/x") != "projects/q/topics/x" {
		t.Errorf("%q, %q", n.topic("orders"), n.topic("projects/q/topics/x"))
	}
}
