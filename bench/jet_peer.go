package main

import (
	"context"
	"errors"
	"maps"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// jetConsuming is what every hand-written loop starts from: Consume with a
// callback, as the client's documentation shows.
type jetConsuming struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	consumer jetstream.Consumer
}

func jetConsume(ctx context.Context, c cell) (*jetConsuming, error) {
	p := &jetConsuming{}
	var err error
	if p.conn, p.js, err = jetConnect(c.local); err != nil {
		return nil, err
	}
	if p.consumer, err = p.js.Consumer(ctx, jetStream, jetConsumer); err != nil {
		p.conn.Close()
		return nil, err
	}
	return p, nil
}

// each calls handle for every message until it returns false or an error.
func (p *jetConsuming) each(ctx context.Context, prefetch int, handle func(jetstream.Msg) (bool, error)) error {
	ended := make(chan error, prefetch+1) // what was fetched comes in any case
	consuming, err := p.consumer.Consume(func(m jetstream.Msg) {
		if more, err := handle(m); !more || err != nil {
			ended <- err
		}
	}, jetstream.PullMaxMessages(prefetch))
	if err != nil {
		return err
	}
	defer consuming.Stop()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// finish stops the clock when the server has all acknowledgements: it answers
// a flush after what was written before.
func (p *jetConsuming) finish(ctx context.Context, c *clock) error {
	err := p.conn.FlushWithContext(ctx)
	c.stop()
	return err
}

// jetAckEach acknowledges each message in the callback.
func jetAckEach(prefetch int, ack func(context.Context, jetstream.Msg) error) func(context.Context, cell) error {
	return func(ctx context.Context, c cell) error {
		p, err := jetConsume(ctx, c)
		if err != nil {
			return err
		}
		defer p.conn.Close()
		err = p.each(ctx, prefetch, func(m jetstream.Msg) (bool, error) {
			c.clock.pass()
			return !c.clock.done(), ack(ctx, m)
		})
		return errors.Join(err, p.finish(ctx, c.clock))
	}
}

// jetPublished is a copy on its way.
type jetPublished struct {
	original jetstream.Msg
	copied   jetstream.PubAckFuture
}

// jetCopyPipelined publishes without waiting; a second goroutine takes the
// PubAcks in order and acknowledges.
func jetCopyPipelined(prefetch int, to jetTarget) func(context.Context, cell) error {
	return func(ctx context.Context, c cell) error {
		p, err := jetConsume(ctx, c)
		if err != nil {
			return err
		}
		defer p.conn.Close()
		if _, err := p.js.CreateStream(ctx, to.stream()); err != nil {
			return err
		}
		settling, stop := context.WithCancel(ctx)
		defer stop()
		pipe := make(chan jetPublished, prefetch)
		settled := make(chan error, 1)
		go func() { settled <- jetSettle(settling, pipe, c.clock.total) }()
		err = p.each(ctx, prefetch, func(m jetstream.Msg) (bool, error) {
			c.clock.pass()
			copied, err := p.js.PublishMsgAsync(jetCopy(m, to, c.clock.seen))
			if err == nil {
				pipe <- jetPublished{m, copied} // has room for all that may be unacknowledged
			}
			return !c.clock.done(), err
		})
		if err != nil {
			stop()
		}
		return errors.Join(err, <-settled, p.finish(ctx, c.clock))
	}
}

// jetCopy is what the message had, and nothing added but its address.
func jetCopy(m jetstream.Msg, to jetTarget, number int) *nats.Msg {
	out := &nats.Msg{Header: maps.Clone(m.Headers()), Data: m.Data()}
	to.address(out, number)
	return out
}

// jetSettle acknowledges total messages, each when its copy is stored.
func jetSettle(ctx context.Context, pipe <-chan jetPublished, total int) error {
	for range total {
		select {
		case m := <-pipe:
			if err := stored(ctx, m.copied); err != nil {
				return err
			}
			if err := m.original.Ack(); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
