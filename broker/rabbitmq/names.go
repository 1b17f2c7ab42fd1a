package rabbitmq

import (
	"strconv"
	"strings"
	"time"
)

// reservedPrefix begins the names that RabbitMQ keeps for itself, those of
// server-named queues among them. Nothing can be declared under it.
const reservedPrefix = "amq."

// names are the names of all that Holdfast declares for one namespace.
type names struct{ ns string }

func (n names) exchange() string { return n.ns }
func (n names) back() string     { return n.ns + ".return" }
func (n names) strays() string   { return n.ns + ".unrouted" }

// rung holds the delay, so that another delay is another queue and a rolling
// deploy never declares one name with two arguments.
func (n names) rung(d time.Duration) string {
	return n.ns + ".retry." + strconv.FormatInt(d.Milliseconds(), 10)
}

func (n names) parked(queue string, shared bool) string {
	if shared || serverNamed(queue) {
		return n.ns + ".parked"
	}
	return queue + ".parked"
}

func holdName(queue string) string { return queue + ".hold" }

// replayExchange is temporary: see [Broker.Sift].
func (n names) replayExchange(queue string) string { return n.ns + ".replay." + queue }

func serverNamed(queue string) bool { return strings.HasPrefix(queue, reservedPrefix) }
