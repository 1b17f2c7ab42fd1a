package awssqs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
)

func newID() string { return rand.Text() }

const chargeText = "SQS can only be looked at by receiving: each look counts as a delivery of every message seen, " +
	"towards the attempts of its budget and the queue's redrive policy, and hides them from consumers meanwhile"

// Depth implements [broker.Sifter]. The counts are SQS's approximate ones, and
// SQS does not tell who consumes. Of the driver's own queues the hidden
// messages are counted too, since all of them wait.
func (b *Broker) Depth(ctx context.Context, queue string) (broker.Depth, error) {
	if err := b.live(); err != nil {
		return broker.Depth{}, err
	}
	a, _, err := b.look(ctx, queue)
	if err != nil {
		return broker.Depth{}, err
	}
	d := broker.Depth{Messages: waiting(a)}
	if b.names.isOurs(queue) {
		d.Messages += hiddenOf(a)
	}
	if !b.names.isOurs(queue) || redriveLimit(a[attrRedrive]) > 0 {
		d.Charge = chargeText
	}
	return d, nil
}

func waiting(a map[string]string) int {
	return int(number(a[string(types.QueueAttributeNameApproximateNumberOfMessages)]) +
		number(a[string(types.QueueAttributeNameApproximateNumberOfMessagesDelayed)]))
}

func hiddenOf(a map[string]string) int {
	return int(number(a[string(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible)]))
}

// Sift implements [broker.Sifter]. It receives each message, and gives back
// what is kept at its end; a sift that is killed leaves them hidden for one
// lease. Of a message group of a FIFO queue it sees ten at most, unless it
// removes them: SQS shows no more while those are in hand.
func (b *Broker) Sift(
	ctx context.Context, queue string, opts broker.SiftOptions,
	pick func(context.Context, *broker.Stored) (broker.Action, error),
) (broker.Sifted, error) {
	depth, err := b.Depth(ctx, queue)
	if err != nil {
		return broker.Sifted{}, err
	}
	url, err := b.urlOf(ctx, queue)
	if err != nil {
		return broker.Sifted{}, err
	}
	s := &sift{broker: b, queue: queue, url: url, opts: opts, pick: pick, hand: newHand(b.client, url, b.conf.Lease)}
	s.there, s.most = depth.Messages, depth.Messages
	if opts.Limit > 0 {
		s.most = min(opts.Limit, s.most)
	}
	defer s.hand.giveBack()
	err = s.through(ctx)
	return s.sum, err
}

// sift is one going-through.
type sift struct {
	broker *Broker
	queue  string
	url    string
	opts   broker.SiftOptions
	pick   func(context.Context, *broker.Stored) (broker.Action, error)
	hand   *hand
	there  int // how many there were
	most   int // to be asked about
	sum    broker.Sifted
	seen   map[string]bool // by SQS's id
}

// through asks about each message that comes, until it has seen as many as
// there were or nothing comes any more.
func (s *sift) through(ctx context.Context) error {
	s.seen = map[string]bool{}
	for s.sum.Seen < s.most {
		list, err := s.gather(ctx)
		if err != nil || len(list) == 0 {
			return err
		}
		if stop, err := s.ask(ctx, list[:min(len(list), s.most-s.sum.Seen)]); stop || err != nil {
			return err
		}
	}
	return nil
}

// ask asks about each, and carries out what is said. What is not asked about
// any more is given back with what is kept.
func (s *sift) ask(ctx context.Context, list []*letter) (stop bool, err error) {
	for _, l := range list {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		action, err := s.pick(ctx, s.stored(l))
		s.sum.Seen++
		err = s.carryOut(context.WithoutCancel(ctx), l, action, err)
		if s.opts.Settled != nil {
			s.opts.Settled(s.sum)
		}
		if err != nil || action.Verb == broker.VerbStop {
			return true, err
		}
	}
	return false, nil
}

// stored is a message as one who looks sees it.
func (s *sift) stored(l *letter) *broker.Stored {
	m := l.view()
	c, err := l.capture("")
	m.Origin = l.origin(c, s.queue)
	if c != nil {
		m.Attempt, m.Lap = c.Attempt, c.Lap
	}
	stored := &broker.Stored{Message: &m, Queue: s.queue, Position: s.sum.Seen, Capture: c, CaptureErr: err}
	if l.deadFrom != "" {
		stored.DeadLettered = "maxReceiveCount"
	}
	return stored
}

// carryOut does what pick said and counts it; an original that stays is kept,
// whatever the reason.
func (s *sift) carryOut(ctx context.Context, l *letter, a broker.Action, err error) error {
	count := &s.sum.Kept
	if err == nil {
		switch a.Verb {
		case broker.VerbCopy:
			count, err = &s.sum.Copied, s.copy(ctx, l, a)
		case broker.VerbReply:
			err = unsupported("a reply: SQS has no reply addresses")
		case broker.VerbDrop:
			count, err = &s.sum.Dropped, s.hand.remove(ctx, l)
		}
	}
	if err != nil {
		count = &s.sum.Kept
	}
	*count++
	return err
}

// copy sends a copy and deletes the original once the copy is stored.
func (s *sift) copy(ctx context.Context, l *letter, a broker.Action) error {
	if !s.hand.has(l) {
		return fmt.Errorf("awssqs: message %.100s: its lease has ended: %w", l.id, broker.ErrRefused)
	}
	url, err := s.broker.target(ctx, a.Target)
	if err != nil {
		return err
	}
	o, err := s.broker.copyOf(l, a, url)
	if err != nil {
		return err
	}
	if err := s.broker.client.store(ctx, url, []*outgoing{o})[0]; err != nil {
		if errors.Is(err, broker.ErrUnrouted) {
			s.broker.forget(a.Target.Queue)
		}
		return err
	}
	return s.hand.remove(ctx, l)
}

// copyOf makes the copy that an action asks. A fresh one of a message with ten
// attributes goes without a stamp: to be what was published matters more.
func (b *Broker) copyOf(l *letter, a broker.Action, url string) (*outgoing, error) {
	p := &packed{Fields: map[string]any{}, ID: l.firstID(), Exchange: l.packed.Exchange}
	for name, v := range l.packed.Fields {
		if !a.Fresh || !broker.FailureField(name) {
			p.Fields[name] = v
		}
	}
	for name, v := range a.Stamp {
		p.Fields[name] = v
	}
	o := &outgoing{
		body: l.body, attributes: l.attributes, group: l.ownGroup(), trace: l.trace, dedup: string(copySift) + "-" + l.id,
	}
	if a.Fresh {
		o.attributes = withoutFailure(l.attributes)
	} else {
		p.Key = l.packed.Key
	}
	if a.Target.Key != "" {
		b.route(o, p, url, a.Target.Key)
	} else if isFIFO(url) && o.group == "" {
		o.group = anyGroup
	}
	if a.Fresh && len(o.attributes) >= maxAttributes {
		return o, nil
	}
	return o, o.pack(p)
}

// withoutFailure leaves out what other libraries stamp on a rejected message.
func withoutFailure(a attributes) attributes {
	out := make(attributes, len(a))
	for name, v := range a {
		if !broker.FailureField(name) {
			out[name] = v
		}
	}
	return out
}
