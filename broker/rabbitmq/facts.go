package rabbitmq

import (
	"math"

	"github.com/holdfast-mq/holdfast/broker"
)

// crashes is how many deliveries of the message ended without a settlement,
// and whether the last of them is known from this delivery alone.
//
// A quorum queue counts. Its counter is believed on a redelivery only, since
// a first delivery shows what a client sent, and not on a message that the
// broker dead-lettered here by itself, since that carries the counter of the
// queue it came from. A copy of ours carries none but its own queue's. On a
// classic queue all counters are somebody else's.
func crashes(headers map[string]any, redelivered bool, c *broker.Capture, source kind) (n int, unstamped bool) {
	if c != nil {
		n = c.Crashes
	}
	if !redelivered {
		return n, false
	}
	delivered, counted := count(headers[headerDeliveryCount])
	_, acquired := count(headers[headerAcquiredCount])
	_, moved := headers[headerDeath]
	if source != kindClassic && (counted || acquired) && (c != nil || !moved) {
		return add(n, delivered), false
	}
	return add(n, 1), true
}

// add does not overflow, whatever a counter says.
func add(a, b int) int { return min(a+b, math.MaxInt32) }

// count reads a counter that the broker wrote. What is no whole number, or
// negative, was written by somebody else.
func count(v any) (int, bool) {
	var n int64
	switch v := v.(type) {
	case int64:
		n = v
	case int32:
		n = int64(v)
	case int16:
		n = int64(v)
	case int8:
		n = int64(v)
	case byte:
		n = int64(v)
	case uint16:
		n = int64(v)
	case uint32:
		n = int64(v)
	default:
		return 0, false
	}
	if n < 0 {
		return 0, false
	}
	return int(min(n, math.MaxInt32)), true
}
