package brokertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Env is what the suite must know of a broker and be able to do with it. Its
// functions may be called from several goroutines at once.
type Env struct {
	// Name tells this configuration from the others of the same driver.
	Name string

	// Capabilities is what sessions on the queues of NewQueue must declare.
	// The text of Broker is not compared.
	Capabilities broker.Capabilities

	// Open returns a new client of the same place, as another process would
	// have it. The suite closes it. Required.
	Open func(t *testing.T) broker.Broker

	// Sifter reads queues for the suite; nil means that the result of Open
	// implements [broker.Sifter], and that it is under test.
	Sifter broker.Sifter

	// NewQueue makes an empty source queue under a name that no other has, and
	// arranges that it is deleted at the end. Required.
	NewQueue func(t *testing.T) string

	// RecreateQueue makes a source queue again that DeleteQueue has deleted.
	// Required.
	RecreateQueue func(t *testing.T, queue string)

	// DeleteQueue deletes a queue on the server, in use or not. Required.
	DeleteQueue func(t *testing.T, queue string)

	// NewTransientQueue makes a source queue that cannot hold, because it may
	// be gone when the hold ends. Optional.
	NewTransientQueue func(t *testing.T) string

	// NewLimitedQueue makes a source queue of which the broker takes a message
	// away by itself after limit deliveries. Optional.
	NewLimitedQueue func(t *testing.T, limit int) string

	// Publish publishes straight to queue as a producer of this broker would,
	// and returns when the broker has the message. Required.
	Publish func(t *testing.T, queue string, m *broker.Message)

	// PublishVia publishes through an exchange (a topic) that leads to queue.
	// It returns the name of the exchange and the key it used. nil where the
	// broker knows only queues.
	PublishVia func(t *testing.T, queue string, m *broker.Message) (exchange, key string)

	// Parked and Hold name the places of a source queue. Required.
	Parked func(queue string) string
	Hold   func(queue string) string

	// Cut ends all connections of a client that Open returned, hard, as a
	// network that fails or a process that is killed. The client may connect
	// again. Required.
	Cut func(t *testing.T, b broker.Broker)

	// Restart stops the server and starts it again; it returns when the server
	// takes connections. Optional.
	Restart func(t *testing.T)

	// RestartTakes is how long a restart takes at most, until the queues are
	// there again. What waits on a rung over a restart waits for longer, so
	// that no case depends on what a broker does with a wait that ends before
	// the source is back.
	RestartTakes time.Duration

	// Block lets the server refuse publishes until unblock is called, which
	// may be more than once. Optional.
	Block func(t *testing.T) (unblock func())

	// Unordered says that the broker hands out in any order, whatever was
	// published first. Cases then sort what they received.
	Unordered bool

	// BlindHold says that nobody can look at what is held, nor end a hold early:
	// it waits inside of the broker. Without["BlindHold"] may say why.
	BlindHold bool

	// BlindConsumers says that nobody can tell who consumes a queue.
	BlindConsumers bool

	// NoEmptyBody says that the broker takes no message without a body.
	NoEmptyBody bool

	// LargestBody is the size in bytes of the largest body worth testing.
	// 0 means 64 KiB.
	LargestBody int

	// Headers is a value of each kind that the broker's headers carry, as they
	// come back. Text outside of ASCII and bytes that are no text belong to it
	// where the broker takes them. When all of them are string or []string, the
	// suite takes it that other kinds arrive as their text.
	Headers map[string]any

	// Added is how the names of headers begin that the broker and the driver
	// add to copies, beside those of Holdfast. nil means "x-".
	Added []string

	// Without says, by the name of an optional field that is not given, why it
	// cannot be: a sentence for people, which the result repeats.
	Without map[string]string

	// Slow multiplies how long the suite waits for anything, and how late a
	// rung may be. 0 means 1.
	Slow float64

	// outlets says that what Open returns implements [broker.Outlets].
	outlets bool
}

// The ladder and hold of the suite: the production code, in milliseconds.
var (
	ladder = []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}
)

const (
	holdTime = 150 * time.Millisecond

	// early is how much sooner than asked a message may come back: brokers
	// count in whole milliseconds.
	early = 2 * time.Millisecond

	// late is how much later it may, at Slow 1.
	late = 2 * time.Second

	// patience is how long the suite waits for what must happen, at Slow 1.
	patience = 20 * time.Second

	// pollEvery is the pace of a poll.
	pollEvery = 10 * time.Millisecond

	// quiet is how long it watches for what must not happen.
	quiet = 150 * time.Millisecond
)

func (e *Env) scaled(d time.Duration) time.Duration {
	if e.Slow > 0 {
		return time.Duration(float64(d) * e.Slow)
	}
	return d
}

// hasOutlets reports whether the broker opens outlets, and the suite has a
// destination for them.
func (e *Env) hasOutlets() bool { return e.outlets && e.PublishVia != nil }

// hasTypedHeaders reports whether headers tell a number from its text.
func (e *Env) hasTypedHeaders() bool {
	for _, v := range e.Headers {
		switch v.(type) {
		case string, []string:
		default:
			return true
		}
	}
	return false
}

// adds reports whether a header of that name may be on a copy and not on the
// message.
func (e *Env) adds(name string) bool {
	prefixes := e.Added
	if prefixes == nil {
		prefixes = []string{"x-"}
	}
	return strings.HasPrefix(name, broker.HeaderPrefix) ||
		slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

func (e *Env) check(t *testing.T) {
	t.Helper()
	required := map[string]bool{
		"Open": e.Open != nil, "NewQueue": e.NewQueue != nil, "RecreateQueue": e.RecreateQueue != nil,
		"DeleteQueue": e.DeleteQueue != nil, "Publish": e.Publish != nil, "Parked": e.Parked != nil,
		"Hold": e.Hold != nil, "Cut": e.Cut != nil,
	}
	for field, given := range required {
		if !given {
			t.Fatalf("brokertest: Env.%s is required", field)
		}
	}
}
