package main

import (
	"context"
	"errors"

	amqp "github.com/rabbitmq/amqp091-go"
)

var errNotStored = errors.New("a copy was not stored")

// copying is a loop that publishes a confirmed and mandatory copy of each
// message and then acknowledges it. It publishes on a connection of its own,
// as the driver does.
type copying struct {
	*consuming
	target  target
	out     *amqp.Connection
	pub     *amqp.Channel
	returns chan amqp.Return
}

func openCopying(ctx context.Context, c cell, prefetch int, to target) (*copying, error) {
	out, err := dial(ctx, c.url)
	if err != nil {
		return nil, err
	}
	p := &copying{target: to, out: out}
	if p.pub, err = out.Channel(); err == nil {
		err = to.declare(p.pub, versionOf(out))
	}
	if err == nil {
		err = p.pub.Confirm(false)
	}
	if err == nil {
		p.returns = p.pub.NotifyReturn(make(chan amqp.Return, prefetch))
		p.consuming, err = consume(ctx, c.url, prefetch)
	}
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	return p, nil
}

func (p *copying) close() {
	p.consuming.close()
	_ = p.out.Close()
}

// publish sends the copy: what the message had, and nothing added.
func (p *copying) publish(d *amqp.Delivery) (*amqp.DeferredConfirmation, error) {
	return p.pub.PublishWithDeferredConfirm(p.target.exchange, p.target.key, true, false, amqp.Publishing{
		Headers: d.Headers, DeliveryMode: amqp.Persistent, MessageId: d.MessageId, Body: d.Body,
	})
}

// settle waits until the copy is stored and acknowledges the original. A
// return is there before its confirm.
func (p *copying) settle(ctx context.Context, tag uint64, c *amqp.DeferredConfirmation) error {
	stored, err := c.WaitContext(ctx)
	if err != nil {
		return err
	}
	if !stored || len(p.returns) > 0 {
		return errNotStored
	}
	return p.ch.Ack(tag, false)
}

// copySerial waits for each confirm in turn.
func copySerial(prefetch int, to target) func(context.Context, cell) error {
	return func(ctx context.Context, c cell) error {
		p, err := openCopying(ctx, c, prefetch, to)
		if err != nil {
			return err
		}
		defer p.close()
		for d := range p.deliveries {
			c.clock.pass()
			confirm, err := p.publish(&d)
			if err != nil {
				return err
			}
			if err := p.settle(ctx, d.DeliveryTag, confirm); err != nil {
				return err
			}
			if c.clock.done() {
				return p.finish(c.clock)
			}
		}
		return errEnded
	}
}

// published is a copy on its way.
type published struct {
	tag     uint64
	confirm *amqp.DeferredConfirmation
}

// copyPipelined publishes without waiting; a second goroutine takes the
// confirms in order and acknowledges.
func copyPipelined(prefetch int, to target) func(context.Context, cell) error {
	return func(ctx context.Context, c cell) error {
		p, err := openCopying(ctx, c, prefetch, to)
		if err != nil {
			return err
		}
		defer p.close()
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		pipe := make(chan published, prefetch)
		settled := make(chan struct{})
		go func() {
			defer close(settled)
			for m := range pipe {
				if err := p.settle(ctx, m.tag, m.confirm); err != nil {
					stop(err)
					return
				}
			}
		}()
		err = p.publishAll(ctx, c.clock, pipe)
		close(pipe)
		<-settled
		if err := errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
		return p.finish(c.clock)
	}
}

func (p *copying) publishAll(ctx context.Context, c *clock, pipe chan<- published) error {
	for !c.done() {
		select {
		case d, ok := <-p.deliveries:
			if !ok {
				return errEnded
			}
			c.pass()
			confirm, err := p.publish(&d)
			if err != nil {
				return err
			}
			pipe <- published{d.DeliveryTag, confirm} // has room for all that may be unacknowledged
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
