package membroker

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-mq/holdfast/broker"
)

// sifting is a sift under way. The server's lock guards it.
type sifting struct {
	broker *Broker
	queue  *queue
	taken  []*entry
	err    error
}

// Depth implements [broker.Sifter]. It counts what waits, and not what is out
// with a consumer.
func (b *Broker) Depth(ctx context.Context, queue string) (broker.Depth, error) {
	b.server.lock()
	defer b.server.unlock()
	if err := b.usable(ctx); err != nil {
		return broker.Depth{}, err
	}
	q := b.server.queues[queue]
	if q == nil {
		return broker.Depth{}, fmt.Errorf("membroker: depth of %q: %w", queue, broker.ErrMissing)
	}
	return broker.Depth{Messages: len(q.ready), Consumers: len(q.consumers)}, nil
}

// Sift implements [broker.Sifter]. What is kept is not marked in any way.
func (b *Broker) Sift(
	ctx context.Context, queue string, opts broker.SiftOptions,
	pick func(context.Context, *broker.Stored) (broker.Action, error),
) (broker.Sifted, error) {
	var sum broker.Sifted
	g, limit, err := b.startSifting(ctx, queue, opts.Limit)
	if err != nil {
		return sum, err
	}
	defer g.finish()
	for sum.Seen < limit {
		e, err := g.next(ctx)
		if e == nil {
			return sum, err
		}
		action, err := pick(ctx, e.stored(queue, sum.Seen))
		sum.Seen++
		err = g.carryOut(ctx, e, action, err, &sum)
		if opts.Settled != nil {
			opts.Settled(sum)
		}
		if err != nil || action.Verb == broker.VerbStop {
			return sum, err
		}
	}
	return sum, nil
}

func (b *Broker) startSifting(ctx context.Context, queue string, limit int) (*sifting, int, error) {
	b.server.lock()
	defer b.server.unlock()
	if err := b.usable(ctx); err != nil {
		return nil, 0, err
	}
	q := b.server.queues[queue]
	if q == nil {
		return nil, 0, fmt.Errorf("membroker: sift %q: %w", queue, broker.ErrMissing)
	}
	if limit <= 0 {
		limit = len(q.ready)
	}
	g := &sifting{broker: b, queue: q}
	b.server.siftings = append(b.server.siftings, g)
	return g, limit, nil
}

// next takes the next message, or none when there is none or the sift is over.
func (g *sifting) next(ctx context.Context) (*entry, error) {
	s := g.broker.server
	s.lock()
	defer s.unlock()
	switch {
	case g.err != nil:
		return nil, g.err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(g.queue.ready) == 0:
		return nil, nil
	}
	e := g.queue.take()
	g.taken = append(g.taken, e)
	return e, nil
}

// carryOut does what pick said and counts it; an original that stays is kept,
// whatever the reason.
func (g *sifting) carryOut(ctx context.Context, e *entry, a broker.Action, err error, sum *broker.Sifted) error {
	count := &sum.Kept
	if err == nil {
		switch a.Verb {
		case broker.VerbCopy:
			count = &sum.Copied
			err = g.replace(ctx, e, e.copyFor(a), a.Target)
		case broker.VerbReply:
			count = &sum.Replied
			err = g.reply(ctx, e, a.Reply)
		case broker.VerbDrop:
			count = &sum.Dropped
			err = g.drop(e)
		}
	}
	if err != nil {
		count = &sum.Kept
	}
	*count++
	return err
}

// replace publishes the copy and then removes the original.
func (g *sifting) replace(ctx context.Context, e, c *entry, to broker.Target) error {
	return g.broker.whenUnblocked(ctx, func() error {
		if g.err != nil {
			return g.err
		}
		if err := g.broker.server.store(c, to); err != nil {
			return err
		}
		g.remove(e)
		return nil
	})
}

func (g *sifting) reply(ctx context.Context, e *entry, r *broker.Reply) error {
	if r == nil {
		return fmt.Errorf("membroker: sift: no reply was given: %w", broker.ErrConfig)
	}
	to := broker.Target{Queue: e.message.ReplyTo}
	return g.replace(ctx, e, newEntry(replyMessage(r, &e.message), to), to)
}

func (g *sifting) drop(e *entry) error {
	s := g.broker.server
	s.lock()
	defer s.unlock()
	if g.err == nil {
		g.remove(e)
	}
	return g.err
}

func (g *sifting) remove(e *entry) {
	g.queue.remove(e)
	g.taken = slices.DeleteFunc(g.taken, func(t *entry) bool { return t == e })
}

func (g *sifting) finish() {
	s := g.broker.server
	s.lock()
	defer s.unlock()
	g.end(broker.ErrClosed)
	s.siftings = slices.DeleteFunc(s.siftings, func(o *sifting) bool { return o == g })
}

// end gives back what was kept, in order and uncharged.
func (g *sifting) end(reason error) {
	if g.err != nil {
		return
	}
	g.err = reason
	for _, e := range g.taken {
		g.queue.putBack(e)
		if e.over {
			g.broker.server.waitOver(g.queue, e)
		}
	}
	g.taken = nil
	g.queue.dispatch()
}

func (s *server) endSiftings(b *Broker, reason error) {
	for _, g := range s.siftings {
		if g.broker == b {
			g.end(reason)
		}
	}
}

func (e *entry) copyFor(a broker.Action) *entry {
	c := newEntry(&e.message, a.Target)
	if a.Fresh {
		c.message.Headers = fresh(e.message.Headers, a.Stamp)
	} else {
		c.message.Headers = withStamp(e.message.Headers, a.Stamp)
	}
	return c
}
