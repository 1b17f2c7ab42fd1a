package rocketmq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Publish implements [broker.Publisher].
func (b *Broker) Publish(ctx context.Context, target broker.Target, m *broker.Message) error {
	to, err := b.target(ctx, "", target)
	if err != nil {
		return err
	}
	out := letter{properties: propertiesOf(m), body: m.Body, born: m.Timestamp.UnixMilli()}
	if m.Timestamp.IsZero() {
		out.born = time.Now().UnixMilli()
	}
	switch {
	case target.Queue == "" && target.Key != "":
		out.properties.set(propertyTags, target.Key)
	case target.Queue != "" && target.Key != "":
		out.from(broker.Origin{Exchange: to.origin, Key: target.Key})
	}
	return to.conn.publish(ctx, out, to.topic, to.queue)
}

// anyQueue lets the broker choose a queue of the topic.
const anyQueue = -1

// destination is where a copy is sent.
type destination struct {
	conn   *conn
	topic  string
	queue  int
	origin string // the topic that a consumer is told
}

// target proves that a target is there and says how to reach it, on the broker
// of that name where it can be.
func (b *Broker) target(ctx context.Context, prefer string, t broker.Target) (destination, error) {
	if t.Queue == "" {
		if t.Exchange == "" {
			return destination{}, fmt.Errorf("%w: rocketmq: a target is a queue, or a topic (Exchange) and a tag (Key)", broker.ErrConfig)
		}
		at, err := b.siteOf(ctx, prefer, t.Exchange)
		if err != nil {
			return destination{}, err
		}
		return destination{at.conn, t.Exchange, anyQueue, t.Exchange}, nil
	}
	p, err := parsePlace(t.Queue)
	if err != nil {
		return destination{}, errors.Join(broker.ErrUnrouted, err)
	}
	switch {
	case p.held:
		return destination{}, unsupported("a copy into a hold")
	case p.topic != "":
		at, err := b.siteOf(ctx, prefer, p.topic)
		if err != nil {
			return destination{}, err
		}
		return destination{at.conn, p.topic, 0, p.topic}, nil
	}
	return b.sourceTarget(ctx, prefer, p.source)
}

// siteOf is a broker that has a topic.
func (b *Broker) siteOf(ctx context.Context, prefer, topic string) (*site, error) {
	sites, _, err := b.cluster.sites(ctx, topic)
	if errors.Is(err, broker.ErrMissing) {
		return nil, fmt.Errorf("rocketmq: %w: %w", broker.ErrUnrouted, err)
	}
	if err != nil {
		return nil, err
	}
	for _, at := range sites {
		if at.name == prefer {
			return at, nil
		}
	}
	return sites[0], nil
}

// sourceTarget is the group's own retry topic: no other group of the topic
// reads it.
func (b *Broker) sourceTarget(ctx context.Context, prefer string, s source) (destination, error) {
	at, err := b.siteOf(ctx, prefer, s.topic)
	if err != nil {
		return destination{}, err
	}
	f := found{source: s, sites: []*site{at}}
	if f.settings, err = at.conn.settings(ctx); err != nil {
		return destination{}, err
	}
	err = at.conn.findGroup(ctx, s.group)
	if codeOf(err) == codeNoGroup {
		return destination{}, fmt.Errorf("rocketmq: there is no consumer group %s: %w: %w", s.group, broker.ErrUnrouted, err)
	}
	if err == nil {
		err = f.ensure(ctx, b.names)
	}
	if err != nil {
		return destination{}, classify("find consumer group "+s.group, err)
	}
	return destination{at.conn, f.returns(), 0, s.topic}, nil
}

// publish sends a message and waits until the broker has it.
func (c *conn) publish(ctx context.Context, m letter, topic string, queue int) error {
	if len(m.body) == 0 {
		return fmt.Errorf("rocketmq: a message must have a body: %w", broker.ErrRefused)
	}
	result := make(chan error, 1)
	c.send(m, topic, queue, func(_ *command, err error) { result <- stored(topic, err) })
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return fmt.Errorf("rocketmq: topic %s has not confirmed the message yet: %w: %w", topic, broker.ErrUnknown, ctx.Err())
	}
}

// proven remembers the last target for a moment: a replay of thousands need
// not look for it thousands of times.
type proven struct {
	prefer string
	wanted broker.Target
	found  destination
	at     time.Time
}

const provenFor = time.Second

func (p *proven) target(ctx context.Context, b *Broker, prefer string, t broker.Target) (destination, error) {
	t.Key = "" // the way is the same
	if t == p.wanted && prefer == p.prefer && time.Since(p.at) < provenFor && p.found.conn != nil {
		return p.found, nil
	}
	found, err := b.target(ctx, prefer, t)
	if err == nil {
		*p = proven{prefer, t, found, time.Now()}
	}
	return found, err
}
