package rabbitmq

import (
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// headerSeq numbers the publishes of one channel, so that a returned
	// message is charged to its own publish: a message id is the user's and
	// may repeat. It is stored with the copy, and hidden from everyone who
	// reads one.
	headerSeq = broker.HeaderPrefix + "seq"

	// headerUserID keeps the user-id property of a message that somebody else
	// published. The broker refuses to take it from us.
	headerUserID = broker.HeaderPrefix + "user-id"

	// headerCut lists the headers whose values were cut to make a message fit.
	headerCut = broker.HeaderPrefix + "cut"

	headerDeath         = "x-death"
	headerFirstDeath    = "x-first-death-"
	headerLastDeath     = "x-last-death-"
	headerDeliveryCount = "x-delivery-count"
	headerAcquiredCount = "x-acquired-count"
	headerFirstQueue    = headerFirstDeath + "queue"
	headerFirstExchange = headerFirstDeath + "exchange"
	headerFirstReason   = headerFirstDeath + "reason"
	deathRoutingKeys    = "routing-keys"
	deathQueue          = "queue"
	deathExchange       = "exchange"
	deathReason         = "reason"
)

// brokers reports whether the broker wrote the header. It is stripped from
// every copy: RabbitMQ 3 trusts an x-death that a client sends and drops by
// it, and its counters belong to the delivery they came with.
func brokers(name string) bool {
	return name == headerDeath || name == headerDeliveryCount || name == headerAcquiredCount || name == headerSeq ||
		strings.HasPrefix(name, headerFirstDeath) || strings.HasPrefix(name, headerLastDeath)
}

// carried reports whether a header goes on a copy that gets a new capture.
func carried(name string) bool { return !brokers(name) && !broker.CaptureField(name) }

// kept reports whether a header goes on a copy that keeps its capture.
func kept(name string) bool { return !brokers(name) }

// fresh reports whether a header goes on a copy that shall look as if it had
// never failed.
func fresh(name string) bool {
	return !brokers(name) && !broker.FailureField(name)
}

// pick copies the headers that want wants, with room for some more. Values
// are shared: nobody may change them.
func pick(headers map[string]any, want func(string) bool) amqp.Table {
	table := make(amqp.Table, len(headers)+20)
	for name, v := range headers {
		if want(name) {
			table[name] = v
		}
	}
	return table
}
