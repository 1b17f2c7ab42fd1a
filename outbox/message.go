package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/store"
)

// The bounds of a message, in bytes unless it says otherwise. AMQP has 255 for
// names; what is below them, every broker of this module has room for or says
// itself that it has not.
const (
	maxName    = 255
	maxHeaders = 32 << 10
	maxPayload = 16 << 20
)

// ErrInvalid is what [Add] returns for a message that no relay could publish.
// The text names the field, its bound and what it is. Nothing was written.
var ErrInvalid = errors.New("outbox: invalid message")

// Message is what is to be published.
type Message struct {
	// ID is a UUID in lower case, and the message's id at the broker. Empty
	// means a new one, of version 7.
	ID string

	// Destination is the exchange, topic or stream, up to 255 bytes; empty where
	// the broker needs none.
	Destination string

	// Key is the routing key, AlsoKeys are further ones to publish under, up to
	// 15 and each up to 255 bytes. The row is published when all of them are
	// confirmed and routed; a repetition publishes only what is missing. They
	// differ from each other.
	Key      string
	AlsoKeys []string

	// OrderingKey, up to 255 bytes, keeps messages of the same destination in
	// the order in which they were committed; empty for those that need none.
	OrderingKey string

	// Type and ContentType, up to 255 bytes each, are the message's properties of
	// these names.
	Type        string
	ContentType string

	// Headers are text, together up to 32 KiB. Names that begin with
	// "x-holdfast-" are taken.
	Headers map[string]string

	// Payload is published byte for byte; up to 16 MiB.
	Payload []byte

	// NotBefore is when it may be published at the earliest, by the database's
	// clock; zero for at once. It is then behind whatever of its ordering key
	// was published meanwhile.
	NotBefore time.Time
}

// Add writes messages in the caller's transaction, with one round trip. They
// are published when it is committed, in the order given where they share
// destination and ordering key. It returns [ErrInvalid] for a message that cannot
// be published, and the errors of the store otherwise ([store.ErrDuplicate],
// [store.ErrFull] and their like). If one message is bad, none is written.
//
// No messages are no error. Add may be called concurrently as far as tx may.
func Add(ctx context.Context, tx store.OutboxTx, messages ...Message) error {
	if len(messages) == 0 {
		return nil
	}
	entries := make([]store.Entry, len(messages))
	var problems []error
	for i, m := range messages {
		if err := m.check(); err != nil {
			problems = append(problems, fmt.Errorf("message %d of %d: %w", i+1, len(messages), err))
			continue
		}
		entries[i] = m.entry()
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: %w", ErrInvalid, errors.Join(problems...))
	}
	return tx.AddOutbox(ctx, entries)
}

func (m Message) entry() store.Entry {
	id := m.ID
	if id == "" {
		id = newID(time.Now())
	}
	return store.Entry{
		ID: id, Lane: laneOf(m.OrderingKey, id), Destination: m.Destination,
		Keys: append([]string{m.Key}, m.AlsoKeys...), OrderingKey: m.OrderingKey,
		Type: m.Type, ContentType: m.ContentType, Headers: m.Headers, Payload: m.Payload, NotBefore: m.NotBefore,
	}
}

// check returns all that is wrong with the message.
func (m Message) check() error {
	var c checks
	if m.ID != "" && !store.IsID(m.ID) {
		c.add("ID is %q: it must be a UUID in lower case, or empty for a new one", shorten(m.ID))
	}
	if m.Destination == "" && m.Key == "" {
		c.add("Destination and Key are both empty: one of them says where to")
	}
	c.text("Destination", m.Destination, maxName)
	c.keys(m.Key, m.AlsoKeys)
	c.text("OrderingKey", m.OrderingKey, maxName)
	c.text("Type", m.Type, maxName)
	c.text("ContentType", m.ContentType, maxName)
	c.headers(m.Headers)
	if len(m.Payload) > maxPayload {
		c.add("Payload has %d bytes: at most %d; keep it elsewhere and publish where", len(m.Payload), maxPayload)
	}
	if y := m.NotBefore.Year(); !m.NotBefore.IsZero() && (y < 1970 || y > 9999) {
		c.add("NotBefore is in the year %d: from 1970 to 9999", y)
	}
	return errors.Join(c.problems...)
}

type checks struct{ problems []error }

func (c *checks) add(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

// text is for what databases and brokers both keep as text.
func (c *checks) text(field, value string, most int) {
	switch {
	case len(value) > most:
		c.add("%s has %d bytes: at most %d", field, len(value), most)
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		c.add("%s is %q: it must be UTF-8 without a zero byte", field, shorten(value))
	}
}

func (c *checks) keys(key string, also []string) {
	if n := 1 + len(also); n > store.MaxKeys {
		c.add("Key and AlsoKeys are %d: at most %d", n, store.MaxKeys)
		return
	}
	c.text("Key", key, maxName)
	seen := map[string]bool{key: true}
	for i, k := range also {
		c.text(fmt.Sprintf("AlsoKeys[%d]", i), k, maxName)
		if seen[k] {
			c.add("AlsoKeys[%d] is %q, which is there already", i, shorten(k))
		}
		seen[k] = true
	}
}

func (c *checks) headers(headers map[string]string) {
	size := 0
	for name, value := range headers {
		size += len(name) + len(value)
		switch {
		case name == "":
			c.add("Headers has one without a name")
		case strings.HasPrefix(strings.ToLower(name), broker.HeaderPrefix):
			c.add("Headers has %q: names that begin with %s are taken", shorten(name), broker.HeaderPrefix)
		}
		c.text("a name in Headers", name, maxName)
		c.text(fmt.Sprintf("Headers[%q]", shorten(name)), value, maxHeaders)
	}
	if size > maxHeaders {
		c.add("Headers have %d bytes: at most %d", size, maxHeaders)
	}
}

// shorten keeps a wrong value from filling a log.
func shorten(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:80], "") + "…"
}
