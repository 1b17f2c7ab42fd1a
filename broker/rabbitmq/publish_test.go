package rabbitmq

import (
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
)

// TestEncode_strips_what_a_broker_wrote: RabbitMQ 3 believes an x-death that a
// client sends, confirms the message and drops it at the next dead-lettering.
func TestEncode_strips_what_a_broker_wrote(t *testing.T) {
	t.Parallel()
	m := &broker.Message{Headers: map[string]any{
		"tenant": "acme", headerDeath: []any{}, headerFirstQueue: "q", "x-last-death-reason": "expired", headerDeliveryCount: int64(3),
	}}
	msg, err := encode(m)
	if err != nil || len(msg.Headers) != 1 || msg.Headers["tenant"] != "acme" {
		t.Errorf("%v, %v", msg.Headers, err)
	}
	if len(m.Headers) != 5 {
		t.Errorf("the message itself was changed: %v", m.Headers)
	}
}
