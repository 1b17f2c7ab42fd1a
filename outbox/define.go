package outbox

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/holdfast-mq/holdfast/store"
)

// ErrDefinition is what [Define] returns for a definition that contradicts
// itself. The text names what to change.
var ErrDefinition = errors.New("outbox: event definition")

const (
	maxVersion = 9999

	// maxEvent leaves room for a consumer's name before it, and for what a driver
	// appends to the name of a queue, in the 255 bytes that AMQP has.
	maxEvent = 180
)

var (
	// typeForm is two parts or more, so that there is a context to name the
	// exchange by.
	typeForm = regexp.MustCompile(`^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+$`)

	// keyForm is words with dots between them. No wildcard of a binding is in
	// it: a key names one thing.
	keyForm = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

	versionSuffix = regexp.MustCompile(`\.v([0-9]+)$`)
)

// Event is what producer and consumers of one event agree on. T is its
// payload. It is immutable and safe for concurrent use.
type Event[T any] struct{ spec spec }

// spec is the part of a definition that does not depend on T.
type spec struct {
	name     string // type and version
	exchange string
	key      string
	alsoKeys []string
	codec    Codec
}

// EventOption changes a definition from what its type and version say.
type EventOption func(*spec)

// OnExchange publishes to that exchange, topic or stream instead of the one
// that is named by the first part of the event's type.
func OnExchange(name string) EventOption { return func(s *spec) { s.exchange = name } }

// WithKey publishes under that key instead of the event's type with its
// version. It ends in the version, as in "orders.placed.v2".
func WithKey(key string) EventOption { return func(s *spec) { s.key = key } }

// AlsoKeys publishes under these keys as well, while a version is in
// transition: what the older consumers are bound to. They may end in any
// version or in none.
func AlsoKeys(keys ...string) EventOption {
	return func(s *spec) { s.alsoKeys = append([]string(nil), keys...) }
}

// WithCodec encodes payloads by c instead of by [JSON].
func WithCodec(c Codec) EventOption { return func(s *spec) { s.codec = c } }

// Define says what an event is, for those who publish it and those who consume
// it. eventType is lower-case words with dots between them, such as
// "orders.placed"; version is 1 to 9999.
//
// Without options the exchange is the first word ("orders"), and the routing key
// and the message's type are the event's type with its version
// ("orders.placed.v1"). It returns [ErrDefinition] when the parts disagree.
func Define[T any](eventType string, version int, options ...EventOption) (*Event[T], error) {
	context, _, _ := strings.Cut(eventType, ".")
	name := eventType + ".v" + strconv.Itoa(version)
	s := spec{name: name, exchange: context, key: name, codec: JSON}
	for _, o := range options {
		o(&s)
	}
	if err := s.check(eventType, version); err != nil {
		return nil, fmt.Errorf("%w %q version %d: %w", ErrDefinition, shorten(eventType), version, err)
	}
	return &Event[T]{spec: s}, nil
}

// MustDefine is [Define] for variables of a package: it panics where that
// returns an error.
func MustDefine[T any](eventType string, version int, options ...EventOption) *Event[T] {
	e, err := Define[T](eventType, version, options...)
	if err != nil {
		panic(err)
	}
	return e
}

func (s spec) check(eventType string, version int) error {
	var c checks
	if !typeForm.MatchString(eventType) {
		c.add("the type must be lower-case words with dots between them, two at least, as in \"orders.placed\"")
	}
	if m := versionSuffix.FindString(eventType); m != "" {
		c.add("the type ends in %q: the version is given beside it", m)
	}
	if version < 1 || version > maxVersion {
		c.add("the version is %d: from 1 to %d", version, maxVersion)
	}
	c.text("the type with its version", s.name, maxEvent)
	c.text("the exchange", s.exchange, maxName)
	c.eventKeys(s, version)
	if s.codec.Encode == nil || s.codec.Decode == nil {
		c.add("the codec must have both Encode and Decode")
	}
	c.text("the codec's ContentType", s.codec.ContentType, maxName)
	return errors.Join(c.problems...)
}

func (c *checks) eventKeys(s spec, version int) {
	if n := 1 + len(s.alsoKeys); n > store.MaxKeys {
		c.add("there are %d keys: at most %d", n, store.MaxKeys)
	}
	m := versionSuffix.FindStringSubmatch(s.key)
	switch {
	case m == nil:
		c.add("the key %q names no version: it ends in \".v%d\"", shorten(s.key), version)
	case m[1] != strconv.Itoa(version):
		c.add("the key %q is of version %s: it ends in \".v%d\"", shorten(s.key), m[1], version)
	}
	seen := map[string]bool{}
	for _, key := range append([]string{s.key}, s.alsoKeys...) {
		if !keyForm.MatchString(key) || len(key) > maxName {
			c.add("the key %q must be letters, digits, - and _ with dots between words, at most %d bytes", shorten(key), maxName)
		}
		if seen[key] {
			c.add("the key %q is there twice", shorten(key))
		}
		seen[key] = true
	}
}
