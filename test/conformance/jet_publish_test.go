package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

func (j *jet) publish(t *testing.T, queue string, m *broker.Message) {
	t.Helper()
	j.send(t, queue, "in", m)
}

func (j *jet) publishVia(t *testing.T, queue string, m *broker.Message) (exchange, key string) {
	t.Helper()
	return j.send(t, queue, "first.key", m)
}

// send publishes to the stream of a queue, under a subject that ends so.
func (j *jet) send(t *testing.T, queue, end string, m *broker.Message) (stream, subject string) {
	t.Helper()
	stream, _, _ = strings.Cut(queue, "/")
	subject = strings.ToLower(stream) + "." + end
	j.do(t, "publish to "+subject, func(ctx context.Context, js natsjs.JetStream) error {
		_, err := js.PublishMsg(ctx, natsMessage(subject, m))
		return err
	})
	return stream, subject
}

// natsMessage is m as a producer writes it: NATS has headers of text, and a
// name of its own for nothing but the message id.
func natsMessage(subject string, m *broker.Message) *nats.Msg {
	h := nats.Header{}
	for name, v := range m.Headers {
		h[name] = texts(v)
	}
	for name, text := range map[string]string{
		natsjs.MsgIDHeader: m.ID, "Correlation-Id": m.CorrelationID, "Reply-To": m.ReplyTo,
		"Content-Type": m.ContentType, "Content-Encoding": m.ContentEncoding, "Type": m.Type, "App-Id": m.AppID,
	} {
		if text != "" {
			h[name] = []string{text}
		}
	}
	if !m.Timestamp.IsZero() {
		h["Timestamp"] = []string{m.Timestamp.UTC().Format(time.RFC3339Nano)}
	}
	return &nats.Msg{Subject: subject, Header: h, Data: m.Body}
}

func texts(v any) []string {
	if list, ok := v.([]string); ok {
		return list
	}
	return []string{fmt.Sprint(v)}
}
