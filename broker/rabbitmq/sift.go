package rabbitmq

import (
	"context"

	"github.com/holdfast-mq/holdfast/broker"
)

// siftWindow is how many messages a sift takes ahead of what it has settled.
const siftWindow = 256

// Depth implements [broker.Sifter]. Messages that somebody has taken and not
// settled are not counted.
func (b *Broker) Depth(ctx context.Context, queue string) (broker.Depth, error) {
	if err := b.begin(); err != nil {
		return broker.Depth{}, err
	}
	defer b.work.Done()
	c, err := b.consume.get(ctx)
	if err != nil {
		return broker.Depth{}, err
	}
	q, err := inspect(ctx, c, queue)
	if err != nil {
		return broker.Depth{}, err
	}
	return broker.Depth{Messages: q.Messages, Consumers: q.Consumers, Charge: c.server.charge()}, nil
}

// charge says what looking costs. A queue's type and its limit cannot be read
// over AMQP, so that it says what would happen.
func (s server) charge() string {
	const looking = "before RabbitMQ 4.3 a quorum queue counts each look as a delivery: "
	switch {
	case s.nacksFree():
		return ""
	case s.limitsByDefault():
		return looking + "a message looked at more often than the queue's delivery limit (20 unless it sets another) is dropped or dead-lettered"
	}
	return looking + "if the queue has a delivery limit, a message looked at more often than that is dropped or dead-lettered"
}

// Sift implements [broker.Sifter].
//
// A copy to a queue goes through a temporary exchange, <namespace>.replay.
// <queue>, that leads to that queue alone, so that the copy can show the
// routing key that its consumer expects. A copy that keeps its capture
// returns as from a hold, through <namespace>.return. The expiration that a
// message has is removed and recorded, as on every copy.
//
// Messages that pick keeps stay taken until the end, since they would come
// round again. RabbitMQ takes back what was held for longer than its consumer
// timeout, 30 minutes by default: the sift then ends with an error.
func (b *Broker) Sift(
	ctx context.Context, queue string, opts broker.SiftOptions,
	pick func(context.Context, *broker.Stored) (broker.Action, error),
) (broker.Sifted, error) {
	if err := b.begin(); err != nil {
		return broker.Sifted{}, err
	}
	defer b.work.Done()
	c, err := b.consume.get(ctx)
	if err != nil {
		return broker.Sifted{}, err
	}
	found, err := b.kinds.of(ctx, c, queue)
	if err != nil {
		return broker.Sifted{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(b.ctx, func() { cancel(broker.ErrClosed) })
	defer stop()
	copies := newPublisher(b.ctx, b.publish, copying{}, func(broker.Notice) {}, cancel)
	go copies.run()
	defer copies.stop()
	targets := newTargets(c, b.layout(c, broker.Subscription{Queue: queue}), copies)
	defer targets.remove(context.WithoutCancel(ctx))
	return sieve{
		conn: c, queue: queue, limit: opts.Limit, window: siftWindow, kind: found.kind, confirm: b.conf.ConfirmTimeout, await: true,
		pick: pick, told: opts.Settled, carry: targets.carry,
	}.run(ctx)
}
