package rabbitmq

import (
	"math"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestCrashes(t *testing.T) {
	t.Parallel()
	death := []any{amqp.Table{"queue": "q"}}
	stamped := &broker.Capture{Crashes: 2}
	for name, c := range map[string]struct {
		headers     amqp.Table
		redelivered bool
		capture     *broker.Capture
		source      kind
		crashes     int
		unstamped   bool
	}{
		"a first delivery":                        {source: kindQuorum},
		"a first delivery on 3.10":                {headers: amqp.Table{"x-delivery-count": int64(0)}, source: kindQuorum},
		"a first delivery of a copy":              {capture: stamped, source: kindQuorum, crashes: 2},
		"a forged counter on a first delivery":    {headers: amqp.Table{"x-delivery-count": int64(50)}, source: kindQuorum},
		"counted by the broker":                   {headers: amqp.Table{"x-delivery-count": int64(3)}, redelivered: true, source: kindQuorum, crashes: 3},
		"counted on top of a stamp":               {headers: amqp.Table{"x-delivery-count": int64(3)}, redelivered: true, capture: stamped, source: kindQuorum, crashes: 5},
		"given back on 4.3":                       {headers: amqp.Table{"x-acquired-count": int64(4)}, redelivered: true, source: kindQuorum},
		"returned from a rung, then crashed":      {headers: amqp.Table{"x-death": death, "x-delivery-count": int64(1)}, redelivered: true, capture: stamped, source: kindQuorum, crashes: 3},
		"moved here with an old counter":          {headers: amqp.Table{"x-death": death, "x-delivery-count": int64(6)}, redelivered: true, source: kindQuorum, crashes: 1, unstamped: true},
		"a classic queue":                         {redelivered: true, source: kindClassic, crashes: 1, unstamped: true},
		"a classic queue and a stamp":             {redelivered: true, capture: stamped, source: kindClassic, crashes: 3, unstamped: true},
		"a classic queue and a forged counter":    {headers: amqp.Table{"x-delivery-count": int64(0)}, redelivered: true, source: kindClassic, crashes: 1, unstamped: true},
		"an unknown source that counts":           {headers: amqp.Table{"x-delivery-count": int32(2)}, redelivered: true, crashes: 2},
		"an unknown source that does not":         {redelivered: true, crashes: 1, unstamped: true},
		"a counter that is a string":              {headers: amqp.Table{"x-delivery-count": "7"}, redelivered: true, source: kindQuorum, crashes: 1, unstamped: true},
		"a negative counter":                      {headers: amqp.Table{"x-delivery-count": int64(-7)}, redelivered: true, source: kindQuorum, crashes: 1, unstamped: true},
		"a huge counter":                          {headers: amqp.Table{"x-delivery-count": int64(math.MaxInt64)}, redelivered: true, capture: stamped, source: kindQuorum, crashes: math.MaxInt32},
		"a stamp at its end":                      {redelivered: true, capture: &broker.Capture{Crashes: math.MaxInt32}, crashes: math.MaxInt32, unstamped: true},
		"a counter that is a table":               {headers: amqp.Table{"x-acquired-count": amqp.Table{}}, redelivered: true, source: kindQuorum, crashes: 1, unstamped: true},
		"counters of every width, here the least": {headers: amqp.Table{"x-delivery-count": byte(9)}, redelivered: true, source: kindQuorum, crashes: 9},
	} {
		n, unstamped := crashes(c.headers, c.redelivered, c.capture, c.source)
		if n != c.crashes || unstamped != c.unstamped {
			t.Errorf("%s: %d crashes, unstamped %v; want %d, %v", name, n, unstamped, c.crashes, c.unstamped)
		}
	}
}
