package telemetry

import (
	"context"
	"net/textproto"

	"go.opentelemetry.io/otel/propagation"
)

// Inject writes the trace context of ctx into the headers of a message that is
// about to be published, so that whoever handles it finds the producer. It takes
// the headers of an outbox message (map[string]string) and of any broker's client
// (map[string]any, and types made of it), and returns them; nil headers are made.
//
// It uses the global propagator, and W3C trace context and baggage where none is
// set. Without a span in ctx nothing is written.
func Inject[M ~map[string]V, V any](ctx context.Context, headers M) M {
	fields := propagation.MapCarrier{}
	propagator().Inject(ctx, fields)
	for name, text := range fields {
		value, ok := any(text).(V)
		if !ok {
			return headers // headers that carry no text
		}
		if headers == nil {
			headers = M{}
		}
		headers[name] = value
	}
	return headers
}

// carrier reads the headers of a message that was received. Their values are of
// the broker's own types: text is a string with one client and bytes with another.
type carrier map[string]any

func (c carrier) Get(key string) string {
	v, ok := c[key]
	if !ok {
		// Some clients write names as HTTP does.
		v = c[textproto.CanonicalMIMEHeaderKey(key)]
	}
	switch text := v.(type) {
	case string:
		return text
	case []byte:
		return string(text)
	default:
		return ""
	}
}

// Set is never called: headers of a message that was received are not changed.
func (c carrier) Set(string, string) {}

func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}
