package gcppubsub

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

// charge is what looking costs.
const (
	chargeSource = "looking hands the messages out and takes them back: each look is a delivery that Pub/Sub counts, and an attempt where it counts those"
	chargePlace  = "looking takes the messages in hand for a moment, so that nobody else sees them meanwhile; Pub/Sub promises no order"
)

// shelf is a subscription that a sift goes through.
type shelf struct {
	path string
	ours bool // nobody's count matters
}

// shelves are where the messages of a queue lie: in the subscription itself
// and, for a source, in that of what has come back, which comes first.
func (b *Broker) shelves(ctx context.Context, c *conn, queue string) (src source, list []shelf, err error) {
	missing := fmt.Errorf("gcppubsub: there is no subscription %.100q: %w", queue, broker.ErrMissing)
	src, err = b.names.source(queue)
	if err != nil {
		return src, nil, missing
	}
	sub, err := c.subscription(ctx, src.path)
	switch {
	case errors.Is(err, broker.ErrMissing):
		return src, nil, missing
	case err != nil:
		return src, nil, err
	}
	if _, ours := sub.GetLabels()[label]; ours {
		return src, []shelf{{src.path, true}}, nil
	}
	back := b.names.place(src, backSuffix).subscription()
	_, err = c.subscription(ctx, back)
	switch {
	case errors.Is(err, broker.ErrMissing):
		return src, []shelf{{path: src.path}}, nil // nothing ever came back
	case err != nil:
		return src, nil, err
	}
	return src, []shelf{{path: back}, {path: src.path}}, nil
}

// Depth implements [broker.Sifter]. What is out with a consumer is not
// counted. Where Config.Backlog does not say how much waits, a place of the
// driver's own is counted by taking everything in hand, up to 10,000 messages,
// and giving it back.
func (b *Broker) Depth(ctx context.Context, queue string) (broker.Depth, error) {
	c, err := b.connection(ctx)
	if err != nil {
		return broker.Depth{}, err
	}
	_, list, err := b.shelves(ctx, c, queue)
	if err != nil {
		return broker.Depth{}, err
	}
	sum := broker.Depth{Charge: chargeSource}
	for _, at := range list {
		d, err := b.depthOf(ctx, c, at)
		if err != nil {
			return broker.Depth{}, err
		}
		sum.Messages += d.Messages
		sum.Consumers = max(sum.Consumers, d.Consumers)
		if at.ours {
			sum.Charge = chargePlace
		}
	}
	return sum, nil
}

func (b *Broker) depthOf(ctx context.Context, c *conn, at shelf) (broker.Depth, error) {
	switch {
	case at.ours:
		g := c.gatherer(ctx, at.path, maxCount, true)
		defer g.close()
		list, err := g.gather(ctx)
		return broker.Depth{Messages: len(list)}, err
	case b.conf.Backlog == nil:
		return broker.Depth{}, unsupported("to count what waits in %s: Pub/Sub has no such call; give Config.Backlog, or look at num_undelivered_messages in Cloud Monitoring", at.path)
	}
	return b.conf.Backlog(ctx, at.path)
}
