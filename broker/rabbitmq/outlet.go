package rabbitmq

import (
	"context"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// line is the part of a channel that publishes.
type line interface {
	closer

	// publish publishes m, mandatory.
	publish(exchange, key string, m amqp.Publishing) (confirmation, error)
}

// confirmation is the broker's answer to one publish. Acked means nothing
// before Done is closed.
type confirmation interface {
	Done() <-chan struct{}
	Acked() bool
}

// confirming is a channel in confirm mode.
type confirming struct{ *amqp.Channel }

func (c confirming) publish(exchange, key string, m amqp.Publishing) (confirmation, error) {
	return c.PublishWithDeferredConfirm(exchange, key, true, false, m)
}

// outlet is a line with what the broker says on it.
type outlet struct {
	conn    *conn
	line    line
	returns chan amqp.Return
	closes  chan *amqp.Error
}

// openOutlet opens a channel whose returns find room for a whole window: a
// full channel would stop the connection's reader, and drop the return.
func openOutlet(ctx context.Context, c *conn) (*outlet, error) {
	ch, err := openChannel(ctx, c)
	if err != nil {
		return nil, err
	}
	o := &outlet{
		conn: c, line: confirming{ch},
		returns: ch.NotifyReturn(make(chan amqp.Return, window+1)),
		closes:  ch.NotifyClose(make(chan *amqp.Error, 1)),
	}
	return o, do(ctx, c, func() error { return ch.Confirm(false) })
}

// why is the reason that the channel is closed, in the broker's words if it
// gave any.
func (o *outlet) why() error {
	if lost := o.conn.lost(); lost != nil {
		return lost
	}
	if err := o.refused(); err != nil {
		return err
	}
	return classified(broker.ErrUnknown, "the publishing channel to %s was closed", o.conn.at)
}

// refused is what the broker closed the channel for, or nil. The client hands
// it over before it gives up the confirms.
func (o *outlet) refused() error {
	select {
	case said := <-o.closes:
		return publishError(said)
	default:
		return nil
	}
}

func publishError(said *amqp.Error) error {
	switch {
	case said == nil || !said.Server:
		return nil
	case said.Code == amqp.AccessRefused:
		return refusedPublish(said.Reason)
	case said.Code == amqp.NotFound:
		return classified(broker.ErrUnknown,
			"an exchange was deleted under the session; the next one declares it again (%s)", said.Reason)
	}
	return classified(broker.ErrUnknown, "the broker closed the publishing channel: %s", said.Reason)
}

// refusedPublish is found out only by publishing: no declaration asks for the
// right to write to an exchange that is not yet used.
func refusedPublish(reason string) error {
	what, name := "publishing", ""
	if m := refusal.FindStringSubmatch(reason); m != nil {
		name = m[3]
	}
	if name == defaultExchangeName {
		what = "sending replies"
	}
	return permissionError(what, reason, []grant{{verb: "write", kind: "exchange", name: name}})
}

// defaultExchangeName is what permissions call the exchange without a name.
const defaultExchangeName = "amq.default"
