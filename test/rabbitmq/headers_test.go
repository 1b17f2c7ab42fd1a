package rabbitmq_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// TestLargeHeaders fails messages once whose own headers leave little or no
// room for a capture. A copy that is too large is confirmed and can then be
// read by nobody, or costs the connection: each must be retried, or parked and
// still readable.
func TestLargeHeaders(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, _ string) {
		bodies := map[string][]byte{}
		parks := map[string]bool{"none": false, "60 KB": false, "100 KB": true, "130,500 B": true}
		sizes := map[string]int{"none": 0, "60 KB": 60_000, "100 KB": 100_000, "130,500 B": 130_500}
		var mu sync.Mutex
		retried := map[string][]byte{}
		w := p.runConsumer(p.open(), holdfast.ConsumerConfig{
			Queue: "orders", Policy: holdfast.Policy{Ladder: []time.Duration{50 * time.Millisecond}},
			Handler: func(_ context.Context, m *holdfast.Message) error {
				if m.Attempt == 1 {
					return errors.New(strings.Repeat("e", 300_000))
				}
				mu.Lock()
				defer mu.Unlock()
				if text, _ := m.Headers["own"].(string); len(text) == sizes[m.ID] {
					retried[m.ID] = m.Body
				}
				return nil
			},
		})
		for name, size := range sizes {
			body := make([]byte, 4<<10)
			_, _ = rand.Read(body)
			bodies[name] = body
			p.publish("", "orders", amqp.Publishing{
				MessageId: name, Body: body, Headers: amqp.Table{"own": strings.Repeat("h", size)},
			})
		}
		w.wantEvents(holdfast.EventDone, 2)
		w.wantEvents(holdfast.EventParked, 2)
		for _, e := range w.of(holdfast.EventParked) {
			if e.Reason != holdfast.ReasonOversize {
				p.Errorf("%s is parked as %s", e.MessageID, e.Reason)
			}
		}
		p.wantDepth("orders.parked", 2)
		parked := map[string][]byte{}
		for range 2 {
			d := p.get("orders.parked")
			parked[d.MessageId] = d.Body
			if d.Headers[broker.HeaderReason] != "oversize" || d.Headers[broker.HeaderError] == nil {
				p.Errorf("%s: reason %v, error %.20v", d.MessageId, d.Headers[broker.HeaderReason], d.Headers[broker.HeaderError])
			}
			if own, _ := d.Headers["own"].(string); len(own) < 100_000 {
				p.Errorf("%s: %d bytes are left of its own header", d.MessageId, len(own))
			}
		}
		for name, body := range bodies {
			got := retried
			if parks[name] {
				got = parked
			}
			if !bytes.Equal(got[name], body) {
				p.Errorf("%s: the body is another, or it is not where it should be (parked: %v)", name, parks[name])
			}
		}
		if gone := w.of(holdfast.EventDetached); len(gone) > 0 {
			p.Errorf("the session was ended: %v", gone[0].Err)
		}
	})
}
