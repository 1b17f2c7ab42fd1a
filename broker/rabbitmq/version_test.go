package rabbitmq

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

func TestServer(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]struct {
		free, limits bool
	}{
		"3.10.8": {false, false}, "3.13.0": {false, false}, "4.0.5": {false, true}, "4.2.0": {false, true}, "4.3.6": {true, true},
		"4.3.0-rc.1": {true, true}, "4.10.1": {true, true}, "5.0.0": {true, true}, "4.3": {true, true}, "": {false, false},
		"new": {false, false}, "4.x": {false, true},
	} {
		s := readServer(amqp.Table{"version": version, "product": "RabbitMQ"})
		if s.nacksFree() != want.free || s.limitsByDefault() != want.limits {
			t.Errorf("%q: free %v, limits %v", version, s.nacksFree(), s.limitsByDefault())
		}
	}
	if got := readServer(nil).String(); got != "RabbitMQ" {
		t.Errorf("a broker that says nothing is %q", got)
	}
}
