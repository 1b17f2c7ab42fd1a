package awssqs

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

// Publish implements [broker.Publisher]. A target is a queue; its key is the
// message group on a FIFO queue. More than ten attributes, properties and
// fields of Holdfast's are packed into one, which only Holdfast reads.
func (b *Broker) Publish(ctx context.Context, target broker.Target, m *broker.Message) error {
	if err := b.live(); err != nil {
		return err
	}
	url, err := b.target(ctx, target)
	if err != nil {
		return err
	}
	a, fields := ownAttributes(m)
	o := &outgoing{body: encodeBody(m.Body, a), attributes: a}
	p := &packed{Fields: fields}
	b.route(o, p, url, target.Key)
	if len(a) > maxAttributes {
		p.Folded = fold(a)
		o.attributes = attributes{}
	}
	if err := o.pack(p); err != nil {
		return err
	}
	if o.size() > maxMessage {
		return fmt.Errorf("awssqs: %w: %d bytes with its attributes, and SQS takes %d", broker.ErrRefused, o.size(), maxMessage)
	}
	return b.client.store(ctx, url, []*outgoing{o})[0]
}

// target finds the queue that a copy goes to.
func (b *Broker) target(ctx context.Context, t broker.Target) (url string, err error) {
	queue := t.Queue
	if queue == "" {
		if t.Exchange != "" {
			return "", unsupported("publishing to topic %.200q: name the queue", t.Exchange)
		}
		queue = t.Key
	}
	if url, err = b.urlOf(ctx, queue); errors.Is(err, broker.ErrMissing) {
		err = fmt.Errorf("%w: %w", broker.ErrUnrouted, err)
	}
	return url, err
}

// anyGroup is for messages of a FIFO queue that nothing gives a group.
const anyGroup = "holdfast"

// route gives a message the key that it is asked to show: as its message group
// where it can be one.
func (b *Broker) route(o *outgoing, p *packed, url, key string) {
	fifo := isFIFO(url)
	if fifo && validGroup(key) {
		o.group = key
	} else {
		p.Key = key
	}
	if fifo && o.group == "" {
		o.group = anyGroup
	}
	if fifo && o.dedup == "" {
		o.dedup = newID()
	}
}

// validGroup reports whether SQS takes s as a message group.
func validGroup(s string) bool {
	for _, r := range s {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 128
}
