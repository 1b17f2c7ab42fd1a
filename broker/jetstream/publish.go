package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

// Publish implements [broker.Publisher]. It asks first whether the target is
// there. To a stream, m.ID is the message's id as a producer gives it, by which
// the stream drops duplicates; the stream behind a queue is that of other
// queues, too, and drops none.
func (b *Broker) Publish(ctx context.Context, target broker.Target, m *broker.Message) error {
	c, err := b.connection(ctx)
	if err != nil {
		return err
	}
	out := &nats.Msg{Header: headersOf(m), Data: m.Body}
	stream, err := b.address(ctx, c, out, target)
	if err != nil {
		return err
	}
	switch {
	case m.ID == "":
	case target.Queue == "":
		out.Header[headerNatsID] = []string{m.ID}
	default:
		out.Header[headerMessageID] = []string{m.ID}
	}
	return c.publish(ctx, out, stream)
}

// address proves that a target is there and routes m to it.
func (b *Broker) address(ctx context.Context, c *conn, m letter, target broker.Target) (stream string, err error) {
	if stream, err = b.route(m, target); err != nil {
		return "", err
	}
	if p, ok := parsePlace(target.Queue); ok {
		return stream, p.takes(ctx, b, c)
	}
	return stream, c.keepsSubject(ctx, stream, target.Key)
}

// route sets where a message goes, to one queue alone or to a subject as a
// producer's would, and returns the stream that must take it.
func (b *Broker) route(m letter, target broker.Target) (stream string, err error) {
	p, ok := parsePlace(target.Queue)
	switch {
	case target.Queue == "" && (target.Key == "" || target.Exchange == ""):
		return "", fmt.Errorf("%w: jetstream: a target is a queue, or a stream (Exchange) and a subject (Key)", broker.ErrConfig)
	case target.Queue == "":
		m.Subject, stream = target.Key, target.Exchange
	case !ok:
		return "", fmt.Errorf("jetstream: there is no queue %.100q: %w", target.Queue, broker.ErrUnrouted)
	default:
		m.Subject, stream = p.subject(b.names)
		route(m.Header, p.stream, target.Key)
	}
	m.Header[headerExpectStream] = []string{stream}
	return stream, nil
}

// publish publishes and waits until stream has the message.
func (c *conn) publish(ctx context.Context, m letter, stream string) error {
	result := make(chan error, 1)
	c.calls.ask(m, c.call, func(answer *nats.Msg, err error) { result <- stored(answer, stream, err) })
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return fmt.Errorf("jetstream: the copy has no PubAck yet: %w: %w", broker.ErrUnknown, ctx.Err())
	}
}

// headersOf writes a message's properties as headers.
func headersOf(m *broker.Message) nats.Header {
	h := make(nats.Header, len(m.Headers)+8)
	for name, v := range m.Headers {
		switch v := v.(type) {
		case []string:
			h[name] = v
		case string:
			h[name] = []string{headerText(name, v)}
		default:
			h[name] = []string{text(v)}
		}
	}
	for name, v := range map[string]string{
		headerCorrelationID: m.CorrelationID, headerReplyTo: m.ReplyTo, headerContentType: m.ContentType,
		headerContentEncoding: m.ContentEncoding, headerType: m.Type, headerAppID: m.AppID,
	} {
		if v != "" {
			h[name] = []string{v}
		}
	}
	if !m.Timestamp.IsZero() {
		h[headerTimestamp] = []string{m.Timestamp.UTC().Format(time.RFC3339Nano)}
	}
	return h
}

// headerText escapes only what read unescapes.
func headerText(name, v string) string {
	if broker.CaptureField(name) {
		return escape(v)
	}
	return v
}
