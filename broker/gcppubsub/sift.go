package gcppubsub

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/holdfast-mq/holdfast/broker"
)

// Sift implements [broker.Sifter]. Pub/Sub gives messages in no order: up to
// 1,000 are taken in hand at once and asked about in the order of their
// publication. On a source each one that is taken is charged a delivery.
func (b *Broker) Sift(
	ctx context.Context, queue string, opts broker.SiftOptions,
	pick func(context.Context, *broker.Stored) (broker.Action, error),
) (broker.Sifted, error) {
	c, err := b.connection(ctx)
	if err != nil {
		return broker.Sifted{}, err
	}
	src, list, err := b.shelves(ctx, c, queue)
	if err != nil {
		return broker.Sifted{}, err
	}
	s := &sift{broker: b, conn: c, queue: queue, source: src, opts: opts, pick: pick, begun: time.Now()}
	for _, at := range list {
		if over, err := s.through(ctx, at); over || err != nil {
			return s.sum, err
		}
	}
	return s.sum, nil
}

// sift is one going-through.
type sift struct {
	broker *Broker
	conn   *conn
	queue  string
	source source
	opts   broker.SiftOptions
	pick   func(context.Context, *broker.Stored) (broker.Action, error)
	sum    broker.Sifted
	begun  time.Time

	proven   string // the last target that was there, its topics, and when
	topic    string
	from     string
	provenAt time.Time
}

const provenFor = time.Second

// through asks about the messages of a shelf, and reports whether the sift is
// over. What is kept stays in hand until the end, or it would come round again.
func (s *sift) through(ctx context.Context, at shelf) (over bool, err error) {
	g := s.conn.gatherer(ctx, at.path, maxInHand, false)
	defer g.close()
	for {
		list, err := g.gather(ctx)
		if err != nil {
			return true, err
		}
		for _, m := range list {
			if s.opts.Limit > 0 && s.sum.Seen >= s.opts.Limit {
				return true, nil
			}
			if g.rounds > 1 && m.GetMessage().GetPublishTime().AsTime().After(s.begun) {
				continue // it arrived later
			}
			if err := ctx.Err(); err != nil {
				return true, err
			}
			if over, err := s.ask(ctx, g, m); over || err != nil {
				return true, err
			}
		}
		if !g.more {
			return false, nil
		}
	}
}

// ask asks about one message and does what is said.
func (s *sift) ask(ctx context.Context, g *gatherer, m *pubsubpb.ReceivedMessage) (over bool, err error) {
	action, err := s.pick(ctx, s.stored(m.GetMessage()))
	s.sum.Seen++
	err = s.carryOut(context.WithoutCancel(ctx), g, m, action, err)
	if s.opts.Settled != nil {
		s.opts.Settled(s.sum)
	}
	return action.Verb == broker.VerbStop, err
}

// stored is a message as one who looks sees it.
func (s *sift) stored(p *pubsubpb.PubsubMessage) *broker.Stored {
	m := read(p)
	c, err := capture(p.GetAttributes(), "")
	m.Origin = origin(p, c, "", s.source.queue)
	if c != nil {
		m.Attempt, m.Lap = c.Attempt, c.Lap
	}
	dead := ""
	if from := p.GetAttributes()[deadLetterFrom]; from != "" {
		dead = "delivery attempts"
		if c == nil {
			m.Origin.Queue = from
		}
	}
	return &broker.Stored{Message: &m, Queue: s.queue, Position: s.sum.Seen, Capture: c, CaptureErr: err, DeadLettered: dead}
}

// carryOut does what pick said and counts it; an original that stays is kept,
// whatever the reason. What was begun is not cut off, but bounded by each
// call's own time.
func (s *sift) carryOut(ctx context.Context, g *gatherer, m *pubsubpb.ReceivedMessage, a broker.Action, err error) error {
	count := &s.sum.Kept
	if err == nil {
		switch a.Verb {
		case broker.VerbCopy:
			count, err = &s.sum.Copied, s.copy(ctx, m.GetMessage(), a)
		case broker.VerbReply:
			count, err = &s.sum.Replied, s.reply(ctx, m.GetMessage(), a.Reply)
		case broker.VerbDrop:
			count = &s.sum.Dropped
		}
	}
	if err == nil && count != &s.sum.Kept {
		err = g.remove(m)
	}
	if err != nil {
		count = &s.sum.Kept
	}
	*count++
	return err
}

// copy publishes a copy of a message.
func (s *sift) copy(ctx context.Context, p *pubsubpb.PubsubMessage, a broker.Action) error {
	want := keeping
	if a.Fresh {
		want = fresh
	}
	m := copyOf(p, carried(p.GetAttributes(), want))
	for name, v := range a.Stamp {
		m.Attributes[name] = text(v)
	}
	if a.Target.Queue != "" && a.Target.Key == "" {
		from := s.stored(p).Message.Origin
		route(m.Attributes, from.Exchange, from.Key)
	}
	topic, err := s.address(ctx, m, a.Target)
	if err != nil {
		return err
	}
	return s.conn.publish(ctx, topic, m)
}

// address is the broker's, with its look at the target remembered for a
// moment: a replay of thousands need not ask thousands of times.
func (s *sift) address(ctx context.Context, m *pubsubpb.PubsubMessage, target broker.Target) (string, error) {
	if target.Queue == "" {
		return s.broker.address(ctx, s.conn, m, target)
	}
	if target.Queue != s.proven || time.Since(s.provenAt) >= provenFor {
		topic, from, err := s.broker.topicOf(ctx, s.conn, target.Queue)
		if err != nil {
			return "", err
		}
		s.proven, s.topic, s.from, s.provenAt = target.Queue, topic, from, time.Now()
	}
	if target.Key != "" {
		route(m.Attributes, s.from, target.Key)
	}
	return s.topic, nil
}

func (s *sift) reply(ctx context.Context, p *pubsubpb.PubsubMessage, r *broker.Reply) error {
	request := read(p)
	if request.ReplyTo == "" || r == nil {
		return fmt.Errorf("gcppubsub: the message names no reply address: %w", broker.ErrUnrouted)
	}
	return s.conn.publish(ctx, s.broker.names.topic(request.ReplyTo), replyTo(&request, r))
}
