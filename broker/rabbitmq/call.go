package rabbitmq

import (
	"context"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// call makes one request to the broker. The client waits for an answer
// without end, so the request runs in a goroutine of its own: when the answer
// does not come in time the connection is dropped, which ends the wait. When
// ctx ends first, the channel that was asked on is not to be used any more.
func call[T any](ctx context.Context, c *conn, request func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	late := time.AfterFunc(c.timeout, func() {
		c.drop(classified(broker.ErrUnreachable, "%s did not answer within %v", c.at, c.timeout))
	})
	answers := make(chan answer, 1)
	go func() {
		v, err := request()
		late.Stop()
		answers <- answer{v, err}
	}()
	select {
	case a := <-answers:
		return a.value, c.explain(a.err)
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// do is call for a request that answers nothing.
func do(ctx context.Context, c *conn, request func() error) error {
	_, err := call(ctx, c, func() (struct{}, error) { return struct{}{}, request() })
	return err
}

func openChannel(ctx context.Context, c *conn) (*amqp.Channel, error) {
	return call(ctx, c, c.Channel)
}

// closer is the part of a channel that ends it.
type closer interface {
	IsClosed() bool
	Close() error
}

// closeChannel gives ch back. Everything that ch has not settled returns to
// its queue.
func closeChannel(ctx context.Context, c *conn, ch closer) error {
	if ch.IsClosed() {
		return nil
	}
	return do(ctx, c, ch.Close)
}
