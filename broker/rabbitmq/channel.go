package rabbitmq

import (
	"context"
	"time"

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

// publishChannel is a line with what the broker says on it.
type publishChannel struct {
	conn    *conn
	line    line
	returns chan amqp.Return
	closes  chan *amqp.Error
	heard   *amqp.Error // read from closes
}

// openPublishChannel opens a channel whose returns find room for a whole
// window: a full channel would stop the connection's reader, and drop the
// return.
func openPublishChannel(ctx context.Context, c *conn) (*publishChannel, error) {
	ch, err := openChannel(ctx, c)
	if err != nil {
		return nil, err
	}
	o := &publishChannel{
		conn: c, line: confirming{ch},
		returns: ch.NotifyReturn(make(chan amqp.Return, window+1)),
		closes:  ch.NotifyClose(make(chan *amqp.Error, 1)),
	}
	return o, do(ctx, c, func() error { return ch.Confirm(false) })
}

// why is the reason that the channel is closed, as explain puts it if the
// broker closed the channel alone.
func (o *publishChannel) why(explain func(*amqp.Error) error) error {
	if lost := o.conn.lost(); lost != nil {
		return lost
	}
	switch said := o.said(); {
	case said == nil:
		return classified(broker.ErrUnknown, "the publishing channel to %s was closed", o.conn.at)
	case said.Server && channelError(said.Code):
		return explain(said)
	default:
		return lostError(o.conn.at, said) // the channel heard of it before the connection's watch did
	}
}

// refused is what the broker closed the channel alone for, or nil.
func (o *publishChannel) refused(explain func(*amqp.Error) error) error {
	if said := o.said(); said != nil && said.Server && channelError(said.Code) {
		return explain(said)
	}
	return nil
}

// said is what the channel was closed for, or nil. The client shuts a channel
// for publishes a moment before it hands that over, and hands it over before
// it gives up the confirms.
func (o *publishChannel) said() *amqp.Error {
	if o.heard != nil || !o.line.IsClosed() {
		return o.heard
	}
	late := time.NewTimer(o.conn.timeout)
	defer late.Stop()
	select {
	case o.heard = <-o.closes:
	case <-o.conn.dead:
	case <-late.C:
	}
	return o.heard
}
