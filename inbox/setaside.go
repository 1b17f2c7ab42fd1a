package inbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/typed"
	"github.com/holdfast-mq/holdfast/store"
)

const (
	// MaxReason is the most bytes of a reason to set a message aside.
	MaxReason = 100

	// maxNote is where a note is cut, in bytes.
	maxNote = 2 << 10
)

// The properties that a row has no column for ride with the headers, under
// names that no copy of the message keeps.
const (
	headerReplyTo         = broker.HeaderPrefix + "reply-to"
	headerContentEncoding = broker.HeaderPrefix + "content-encoding"
	headerAppID           = broker.HeaderPrefix + "app-id"
	headerTimestamp       = broker.HeaderPrefix + "timestamp"
)

// SetAside keeps m, which is valid and cannot be applied now, in the caller's
// transaction. The handler then commits and returns nil: the delivery is
// acknowledged, and the row is the only copy. reason is the consumer's own word
// for it, by which an operator counts and selects, of at most [MaxReason]
// bytes; note is free text, cut at 2 KiB.
//
// The payload is kept byte for byte, and the headers with their types, without
// those that failure added ([broker.FailureField]). In properties, what a
// database does not take as text (no UTF-8, NUL) is replaced. [Restore] makes
// the message of the row again.
//
// Called with the context of fn of [Once] or [After], it keeps the message from
// being recorded as handled, so that it runs when it is given back to work. With
// another context inside fn of After it does not, and the message would be a
// duplicate then.
//
// The same message set aside again by the same consumer for the same reason is
// one row.
func SetAside(ctx context.Context, tx store.SetAsideTx, consumer string, m *holdfast.Message, reason, note string) error {
	err := errors.Join(checkText("consumer", consumer, MaxConsumer), checkText("reason", reason, MaxReason))
	if m == nil {
		err = errors.Join(err, errors.New("m must not be nil"))
	}
	if err = errors.Join(refused(err), given(tx != nil, errNoTx)); err != nil {
		return err
	}
	if err := tx.PutAside(ctx, asideOf(consumer, m, reason, note)); err != nil {
		return fmt.Errorf("inbox: %s: setting %s aside: %w", consumer, m.ID, err)
	}
	noteAside(ctx)
	return nil
}

func asideOf(consumer string, m *holdfast.Message, reason, note string) store.Aside {
	headers := maps.Clone(m.Headers)
	maps.DeleteFunc(headers, func(name string, _ any) bool { return broker.FailureField(name) })
	return store.Aside{
		ID: newID(), Consumer: consumer, Queue: text(m.Origin.Queue), Reason: reason, Note: text(note[:min(len(note), maxNote)]),
		MessageID: text(m.ID), CorrelationID: text(m.CorrelationID), Exchange: text(m.Origin.Exchange), Key: text(m.Origin.Key),
		Type: text(m.Type), ContentType: text(m.ContentType), Headers: typed.Marshal(withProperties(headers, m)), Payload: m.Body,
	}
}

func withProperties(headers map[string]any, m *holdfast.Message) map[string]any {
	if headers == nil {
		headers = map[string]any{}
	}
	for name, v := range map[string]string{
		headerReplyTo: m.ReplyTo, headerContentEncoding: m.ContentEncoding, headerAppID: m.AppID,
	} {
		if v != "" {
			headers[name] = v
		}
	}
	if !m.Timestamp.IsZero() {
		headers[headerTimestamp] = m.Timestamp
	}
	return headers
}

// Restore makes the message of a row that [SetAside] wrote, as it is to be
// published when it is given back to work. Its Origin says where it came from,
// and its headers are never nil. What only a driver has a type for comes back
// as its text.
func Restore(a store.Aside) (*holdfast.Message, error) {
	headers, err := typed.Unmarshal(a.Headers)
	if err != nil {
		return nil, fmt.Errorf("inbox: row %s: %w: %w", a.ID, store.ErrConfig, err)
	}
	m := &holdfast.Message{
		Body: a.Payload, Headers: headers, ID: a.MessageID, CorrelationID: a.CorrelationID, ContentType: a.ContentType,
		Type: a.Type, Origin: holdfast.Origin{Queue: a.Queue, Exchange: a.Exchange, Key: a.Key},
	}
	m.ReplyTo = take[string](headers, headerReplyTo)
	m.ContentEncoding = take[string](headers, headerContentEncoding)
	m.AppID = take[string](headers, headerAppID)
	m.Timestamp = take[time.Time](headers, headerTimestamp)
	return m, nil
}

func take[T any](headers map[string]any, name string) T {
	v, _ := headers[name].(T)
	delete(headers, name)
	return v
}

// text is s without what a database does not take as text.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// newID returns a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
