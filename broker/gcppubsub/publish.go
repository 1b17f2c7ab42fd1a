package gcppubsub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/holdfast-mq/holdfast/broker"
)

// Publish implements [broker.Publisher]. A target is a subscription, or a
// topic (Exchange) with an ordering key (Key).
func (b *Broker) Publish(ctx context.Context, target broker.Target, m *broker.Message) error {
	c, err := b.connection(ctx)
	if err != nil {
		return err
	}
	out := messageOf(m)
	topic, err := b.address(ctx, c, out, target)
	if err != nil {
		return err
	}
	return c.publish(ctx, topic, out)
}

// address proves that a target is there, sets the route on m, and returns the
// topic to publish to. A copy for a source goes to the topic of what has come
// back for it.
func (b *Broker) address(ctx context.Context, c *conn, m *pubsubpb.PubsubMessage, target broker.Target) (topic string, err error) {
	if target.Queue == "" {
		if target.Exchange == "" {
			return "", fmt.Errorf("%w: gcppubsub: a target is a subscription, or a topic (Exchange)", broker.ErrConfig)
		}
		m.OrderingKey = target.Key
		return b.names.topic(target.Exchange), nil
	}
	topic, from, err := b.topicOf(ctx, c, target.Queue)
	if err == nil && target.Key != "" {
		route(m.Attributes, from, target.Key)
	}
	return topic, err
}

// topicOf is where to publish for one subscription alone, and the topic of
// that subscription.
func (b *Broker) topicOf(ctx context.Context, c *conn, queue string) (topic, from string, err error) {
	src, err := b.names.source(queue)
	if err != nil {
		return "", "", fmt.Errorf("gcppubsub: there is no subscription %.100q: %w", queue, broker.ErrUnrouted)
	}
	sub, err := c.subscription(ctx, src.path)
	switch {
	case errors.Is(err, broker.ErrMissing):
		return "", "", fmt.Errorf("gcppubsub: there is no subscription %s: %w", src.queue, broker.ErrUnrouted)
	case err != nil:
		return "", "", err
	}
	switch kind, ours := sub.GetLabels()[label]; {
	case ours && kind != kindParked && kind != kindBack:
		return "", "", unsupported("a copy into %s, where messages wait for a time", src.queue)
	case ours:
		return sub.GetTopic(), b.names.shortTopic(sub.GetTopic()), nil
	}
	f, err := c.find(ctx, src)
	if err != nil {
		return "", "", err
	}
	_, err = c.ensure(ctx, b.names, f, map[string]string{kindBack: backSuffix}, b.conf.Retention)
	return b.names.place(src, backSuffix).topic(), b.names.shortTopic(sub.GetTopic()), err
}

// messageOf writes a message's properties as attributes.
func messageOf(m *broker.Message) *pubsubpb.PubsubMessage {
	a := make(map[string]string, len(m.Headers)+8)
	for name, v := range m.Headers {
		a[name] = text(v)
	}
	for name, v := range map[string]string{
		attrMessageID: m.ID, attrCorrelationID: m.CorrelationID, attrReplyTo: m.ReplyTo, attrContentType: m.ContentType,
		attrContentEncoding: m.ContentEncoding, attrType: m.Type, attrAppID: m.AppID,
	} {
		if v != "" {
			a[name] = v
		}
	}
	if !m.Timestamp.IsZero() {
		a[attrTimestamp] = m.Timestamp.UTC().Format(time.RFC3339Nano)
	}
	return &pubsubpb.PubsubMessage{Data: m.Body, Attributes: a}
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}
