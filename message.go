package holdfast

import (
	"context"
	"encoding/json"

	"github.com/holdfast-mq/holdfast/broker"
)

// Message is a message as a handler sees it. Its body and headers must not be
// changed: retried and parked copies are made from them.
type Message = broker.Message

// Origin is where a message was first published.
type Origin = broker.Origin

// Capture is the record that travels with a held or parked message.
type Capture = broker.Capture

// Reason is why a message is parked.
type Reason = broker.Reason

// The reasons.
const (
	ReasonVerdict           = broker.ReasonVerdict
	ReasonExhausted         = broker.ReasonExhausted
	ReasonLapsExhausted     = broker.ReasonLapsExhausted
	ReasonMalformed         = broker.ReasonMalformed
	ReasonNoncanonicalRoute = broker.ReasonNoncanonicalRoute
	ReasonCrashLoop         = broker.ReasonCrashLoop
	ReasonOversize          = broker.ReasonOversize
)

// Handler processes one message. nil means done; an error that carries a
// verdict ([Retry], [RetryAfter], [Hold], [Park], [Discard]) means what it
// says; any other error is a retry. A panic is an error. Up to
// [ConsumerConfig.Concurrency] handlers run at once.
//
// ctx ends when [Policy.Timeout] has passed, or when the consumer was told to
// stop and its grace period is over. A failure after that end of grace spends
// nothing: the message goes back to the broker.
//
// Delivery is at least once: a handler must be idempotent.
type Handler func(ctx context.Context, m *Message) error

// JSON returns a handler that decodes the body into a T and calls handle. A
// body that cannot be decoded is parked at once as malformed, byte for byte.
func JSON[T any](handle func(ctx context.Context, body T, m *Message) error) Handler {
	return func(ctx context.Context, m *Message) error {
		var body T
		if err := json.Unmarshal(m.Body, &body); err != nil {
			return &malformedError{err}
		}
		return handle(ctx, body, m)
	}
}
