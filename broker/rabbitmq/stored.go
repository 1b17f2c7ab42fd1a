package rabbitmq

import (
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// stored is the message as one who looks into a queue sees it.
func (l *letter) stored(queue string, position int) *broker.Stored {
	s := &broker.Stored{
		Message: &l.msg, Queue: queue, Position: position, Capture: l.capture, CaptureErr: l.captureErr,
	}
	if death, ok := firstDeath(l.msg.Headers); ok {
		s.DeadLettered = death.reason
		if l.capture == nil {
			l.msg.Origin = death.origin
		}
	}
	return s
}

type death struct {
	origin broker.Origin
	reason string
}

// firstDeath reads where the broker first took the message from by itself.
// The list has the latest first; the x-first-death headers name the oldest
// queue and reason even where entries were merged.
func firstDeath(headers map[string]any) (death, bool) {
	entries, _ := headers[headerDeath].([]any)
	var oldest amqp.Table
	queue, reason := text(headers[headerFirstQueue]), text(headers[headerFirstReason])
	for _, e := range entries {
		entry, ok := e.(amqp.Table)
		if !ok {
			continue
		}
		if queue == "" || text(entry[deathQueue]) == queue && text(entry[deathReason]) == reason {
			oldest = entry
		}
	}
	if oldest == nil {
		return death{}, false
	}
	d := death{
		origin: broker.Origin{Exchange: text(oldest[deathExchange]), Queue: text(oldest[deathQueue])},
		reason: text(oldest[deathReason]),
	}
	if keys, ok := oldest[deathRoutingKeys].([]any); ok && len(keys) > 0 {
		d.origin.Key = text(keys[0])
	}
	return d, true
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}
