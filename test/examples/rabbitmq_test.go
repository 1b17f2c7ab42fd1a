package examples

import (
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

func TestRabbitMQ_ends_when_each_order_met_its_fate(t *testing.T) {
	url := testenv.Need(t, "rabbitmq4").VHost(t)
	example, holdfast := program(t, "examples/rabbitmq"), program(t, "cmd/holdfast")
	env := []string{"AMQP_URL=" + url}
	for range 2 { // what an earlier run left parked is nobody's concern
		run(t, "", env, example).wants(t, 0,
			"order 1 charged on attempt 1", "order 2 charged on attempt 1", "order 5 charged on attempt 1",
			"Received:8 Done:3 Delayed:2 Held:1 Parked:2 Discarded:0 Released:0 InFlight:0")
	}
	run(t, "", env, holdfast, "parked", "orders.billing").wants(t, 0,
		"orders.billing.parked: 4 waiting", "exhausted 2, malformed 2", "order 3: the card was declined", "unexpected end of JSON input")
}

func TestRabbitMQ_says_what_is_missing(t *testing.T) {
	example := program(t, "examples/rabbitmq")
	for name, tc := range map[string]struct{ url, says string }{
		"no_url":         {"", "set AMQP_URL"},
		"no_amqp_url":    {"http://guest:hidden@127.0.0.1/", "amqp"},
		"unreadable_url": {"amqp://guest:hid%zden@127.0.0.1/", "URL"},
		"no_broker":      {"amqp://guest:hidden@127.0.0.1:1/", "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			o := run(t, "", []string{"AMQP_URL=" + tc.url}, example)
			o.wants(t, 1, tc.says)
			if strings.Contains(o.stdout+o.stderr, "hid") {
				t.Errorf("it shows the password: %s%s", o.stdout, o.stderr)
			}
		})
	}
}
