package membroker

import "github.com/holdfast-mq/holdfast/broker"

// Option makes a broker a poorer one, for tests of what is done without.
type Option func(*broker.Capabilities)

// WithoutDelay is a broker that cannot delay: there are no rungs.
func WithoutDelay(c *broker.Capabilities) { c.Delay = false }

// WithoutHold is a broker that cannot return a held message.
func WithoutHold(c *broker.Capabilities) { c.Hold = false }

// WithoutReplies is a broker that carries no replies.
func WithoutReplies(c *broker.Capabilities) { c.Replies = false }

// WithoutStamp is a broker that cannot put a stamped copy back on a source.
func WithoutStamp(c *broker.Capabilities) { c.Stamp = false }

// WithoutCounts is a broker that only knows whether a delivery is a
// redelivery, as a classic queue of RabbitMQ.
func WithoutCounts(c *broker.Capabilities) { c.Counts = false }

// WithoutFreeRelease is a broker that counts a delivery that was given back as
// one that ended without a settlement, as a quorum queue of RabbitMQ 3 does.
func WithoutFreeRelease(c *broker.Capabilities) { c.FreeRelease = false }

// WithAttempts is a broker whose own counter is the attempt, and which delays a
// message itself and no copy of it, as SQS does. Whatever ends a delivery
// without a settlement spends an attempt.
func WithAttempts(c *broker.Capabilities) {
	c.Attempts, c.Exact, c.Counts, c.FreeRelease = true, true, false, false
}

// WithMaxHeaders is a broker whose rungs and holds take a limited size of
// headers, in bytes.
func WithMaxHeaders(n int) Option {
	return func(c *broker.Capabilities) { c.MaxHeaders = n }
}

func capabilities(opts []Option) broker.Capabilities {
	c := broker.Capabilities{
		Broker: "membroker", Delay: true, Hold: true, Replies: true, Stamp: true, FreeRelease: true, Counts: true,
	}
	for _, o := range opts {
		o(&c)
	}
	return c
}
