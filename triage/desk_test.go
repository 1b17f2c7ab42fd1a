package triage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/triage"
)

// desk is a broker in memory with the queue orders and what belongs to it.
type desk struct {
	*membroker.Broker
	t *testing.T
}

const (
	source = "orders"
	parked = "orders.parked"
)

var place = triage.Place{Queue: parked}

func newDesk(t *testing.T) *desk {
	t.Helper()
	b := membroker.New()
	t.Cleanup(func() { _ = b.Close() })
	for _, q := range []string{source, parked, "orders.hold", "holdfast.parked"} {
		b.DeclareQueue(q)
	}
	return &desk{Broker: b, t: t}
}

// captured is the record of a failure, with change made to it.
func captured(id string, change func(*broker.Capture)) *broker.Capture {
	c := &broker.Capture{
		ID: id, Attempt: 5, Reason: broker.ReasonExhausted, Error: "the bank said no",
		Origin:        broker.Origin{Queue: source, Exchange: "shop", Key: "orders.created"},
		FirstFailedAt: time.Now().Add(-2 * time.Hour), FailedAt: time.Now().Add(-time.Hour),
	}
	if change != nil {
		change(c)
	}
	return c
}

// put stores a message with a capture, or without one.
func (d *desk) put(queue string, c *broker.Capture, change func(*broker.Message)) {
	d.t.Helper()
	m := &broker.Message{Body: []byte(`{"n":1}`), ContentType: "application/json", Headers: map[string]any{"tenant": "acme"}}
	if c != nil {
		c.Each(func(name string, v any) { m.Headers[name] = v })
		m.Body = fmt.Appendf(nil, `{"id":%q}`, c.ID)
	}
	if change != nil {
		change(m)
	}
	if err := d.Publish(context.Background(), broker.Target{Queue: queue}, m); err != nil {
		d.t.Fatal(err)
	}
}

// fill parks n messages, p1 … pn.
func (d *desk) fill(n int) {
	d.t.Helper()
	for i := range n {
		d.put(parked, captured(fmt.Sprintf("p%d", i+1), nil), nil)
	}
}

// ids are the bodies of a queue's messages, as a quick way to tell them apart.
func (d *desk) bodies(queue string) []string {
	out := []string{}
	for _, m := range d.Messages(queue) {
		out = append(out, string(m.Message.Body))
	}
	return out
}

func (d *desk) want(queue string, ids ...string) {
	d.t.Helper()
	want := []string{}
	for _, id := range ids {
		want = append(want, fmt.Sprintf(`{"id":%q}`, id))
	}
	if got := d.bodies(queue); fmt.Sprint(got) != fmt.Sprint(want) {
		d.t.Errorf("%s holds %v, want %v", queue, got, want)
	}
}
