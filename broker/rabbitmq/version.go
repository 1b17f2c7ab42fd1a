package rabbitmq

import (
	"strconv"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// server is what a broker says of itself.
type server struct {
	product      string
	version      string
	major, minor int
}

func readServer(properties amqp.Table) server {
	product, _ := properties["product"].(string)
	version, _ := properties["version"].(string)
	s := server{product: orDefault(product, "RabbitMQ"), version: version}
	parts := strings.SplitN(version, ".", 3)
	if len(parts) >= 2 {
		// A version that cannot be read stays 0.0: what is only safe on newer
		// brokers is then not done.
		s.major, _ = strconv.Atoi(parts[0])
		s.minor, _ = strconv.Atoi(leadingDigits(parts[1]))
	}
	return s
}

func leadingDigits(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		return s
	}
	return s[:end]
}

func (s server) String() string { return strings.TrimSpace(s.product + " " + s.version) }

func (s server) atLeast(major, minor int) bool {
	return s.major > major || s.major == major && s.minor >= minor
}

// nacksFree: a nack with requeue counts nothing and keeps the order. Before,
// it counted as a delivery and moved a quorum queue's message to the tail, so
// that closing the channel is the better way to give something back.
func (s server) nacksFree() bool { return s.atLeast(4, 3) }

// limitsByDefault: a quorum queue that sets no delivery limit has one of 20,
// and -1 means none. Before, -1 was accepted and dropped a message at its
// first requeue.
func (s server) limitsByDefault() bool { return s.atLeast(4, 0) }
