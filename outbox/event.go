package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/store"
)

// Name is the event's type with its version, as in "orders.placed.v1": the
// Type of its messages.
func (e *Event[T]) Name() string { return e.spec.name }

// MessageOption changes one message of an event.
type MessageOption func(*Message)

// InOrderOf gives the message an ordering key: mostly the id of the aggregate
// that the event is about.
func InOrderOf(orderingKey string) MessageOption {
	return func(m *Message) { m.OrderingKey = orderingKey }
}

// NotBefore lets the message wait until then.
func NotBefore(at time.Time) MessageOption { return func(m *Message) { m.NotBefore = at } }

// WithID gives the message an id of the caller's own, a UUID in lower case.
func WithID(id string) MessageOption { return func(m *Message) { m.ID = id } }

// WithHeader adds a header.
func WithHeader(name, value string) MessageOption {
	return func(m *Message) {
		if m.Headers == nil {
			m.Headers = map[string]string{}
		}
		m.Headers[name] = value
	}
}

// Message makes a message of value. It returns [ErrInvalid] when the codec
// cannot encode it.
func (e *Event[T]) Message(value T, options ...MessageOption) (Message, error) {
	payload, err := e.spec.codec.Encode(value)
	if err != nil {
		return Message{}, fmt.Errorf("%w: the payload of %s cannot be encoded: %w", ErrInvalid, e.spec.name, err)
	}
	m := Message{
		Destination: e.spec.exchange, Key: e.spec.key, AlsoKeys: e.spec.alsoKeys,
		Type: e.spec.name, ContentType: e.spec.codec.ContentType, Payload: payload,
	}
	for _, o := range options {
		o(&m)
	}
	return m, nil
}

// Add is [Add] of one message of value. A value that cannot be encoded is
// [ErrInvalid], and nothing is written.
func (e *Event[T]) Add(ctx context.Context, tx store.OutboxTx, value T, options ...MessageOption) error {
	m, err := e.Message(value, options...)
	if err != nil {
		return err
	}
	return Add(ctx, tx, m)
}

// Handler returns a handler for a consumer of this event. A message of another
// type or version is parked with its reason, and one whose body cannot be decoded
// is parked as malformed; none is dropped, and none reaches handle.
func (e *Event[T]) Handler(handle func(ctx context.Context, value T, m *holdfast.Message) error) holdfast.Handler {
	return func(ctx context.Context, m *holdfast.Message) error {
		if m.Type != e.spec.name {
			return holdfast.Park(fmt.Errorf("the message is of type %q, and this consumer handles %s: "+
				"deploy a consumer of that type, or bind this queue to what it handles", shorten(m.Type), e.spec.name))
		}
		var value T
		if err := e.spec.codec.Decode(m.Body, &value); err != nil {
			return &malformedError{fmt.Errorf("the body is no %s: %w", e.spec.name, err)}
		}
		return handle(ctx, value, m)
	}
}

// malformedError parks as malformed. The consumer recognises it by its
// methods.
type malformedError struct{ err error }

func (e *malformedError) Error() string { return e.err.Error() }
func (e *malformedError) Unwrap() error { return e.err }

// HoldfastVerdict makes it a park.
func (e *malformedError) HoldfastVerdict() (kind string, after time.Duration) { return "park", 0 }

// HoldfastReason makes it one with its own reason.
func (e *malformedError) HoldfastReason() string { return string(holdfast.ReasonMalformed) }
