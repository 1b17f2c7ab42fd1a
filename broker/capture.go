package broker

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Reason is why a message is parked. The set is closed.
type Reason string

// The reasons.
const (
	// ReasonVerdict: the handler said that it will never process it.
	ReasonVerdict Reason = "verdict"

	// ReasonExhausted: the ladder is spent.
	ReasonExhausted Reason = "exhausted"

	// ReasonLapsExhausted: it was held as often as the policy allows.
	ReasonLapsExhausted Reason = "laps_exhausted"

	// ReasonMalformed: the body could not be decoded.
	ReasonMalformed Reason = "malformed"

	// ReasonNoncanonicalRoute: a hold was asked, and the message could not be
	// returned to where it came from.
	ReasonNoncanonicalRoute Reason = "noncanonical_route"

	// ReasonCrashLoop: too many deliveries of it ended without a settlement.
	ReasonCrashLoop Reason = "crash_loop"

	// ReasonOversize: its own headers leave no room to take a rung or a hold.
	ReasonOversize Reason = "oversize"
)

var reasons = map[Reason]bool{
	ReasonVerdict: true, ReasonExhausted: true, ReasonLapsExhausted: true, ReasonMalformed: true,
	ReasonNoncanonicalRoute: true, ReasonCrashLoop: true, ReasonOversize: true,
}

// Valid reports whether r is one of the closed set.
func (r Reason) Valid() bool { return reasons[r] }

// CaptureVersion is the version of the capture that this package writes and
// the only one that it reads.
const CaptureVersion = 1

// The names of a capture's fields, as headers or attributes. Where a broker
// limits their number, a driver packs them into one.
const (
	HeaderPrefix        = "x-holdfast-"
	HeaderVersion       = HeaderPrefix + "version"
	HeaderID            = HeaderPrefix + "id"
	HeaderAttempt       = HeaderPrefix + "attempt"
	HeaderLap           = HeaderPrefix + "lap"
	HeaderCrashes       = HeaderPrefix + "crashes"
	HeaderReason        = HeaderPrefix + "reason"
	HeaderError         = HeaderPrefix + "error"
	HeaderErrorSHA256   = HeaderPrefix + "error-sha256"
	HeaderCause         = HeaderPrefix + "cause"
	HeaderQueue         = HeaderPrefix + "queue"
	HeaderExchange      = HeaderPrefix + "exchange"
	HeaderKey           = HeaderPrefix + "key"
	HeaderFirstFailedAt = HeaderPrefix + "first-failed-at"
	HeaderFailedAt      = HeaderPrefix + "failed-at"
	HeaderNotBefore     = HeaderPrefix + "not-before"
	HeaderHost          = HeaderPrefix + "host"
	HeaderToken         = HeaderPrefix + "token"
	HeaderTrace         = HeaderPrefix + "trace"

	// HeaderExpiration keeps the expiration that the original had and that
	// copies must not have. A driver writes it; it is not part of Capture.
	HeaderExpiration = HeaderPrefix + "expiration"

	// HeaderReplayID and HeaderReplays are stamped by an operator's replay.
	// They are not part of the capture: a replayed message is fresh.
	HeaderReplayID = HeaderPrefix + "replay-id"
	HeaderReplays  = HeaderPrefix + "replays"

	// HeaderOutboxRepeat marks what an outbox publishes again, since it cannot
	// be said whether the broker has it already. Its value is how often that
	// has happened, as a decimal.
	HeaderOutboxRepeat = HeaderPrefix + "outbox-repeat"
)

// Capture is the record that travels with a message that failed. Counts in a
// capture are facts; the caps they are held against are policy, so that a
// lower cap never makes a capture invalid.
type Capture struct {
	// ID names the failure for people and for deduplication. It stays the
	// same over all copies of one message.
	ID string

	// Attempt is which attempt the delivery of this copy will be, from 1.
	Attempt int

	// Lap is how many holds the message has been through.
	Lap int

	// Crashes is how many deliveries ended without a settlement before this
	// copy was made.
	Crashes int

	// Reason is why the message is parked; empty on other copies.
	Reason Reason

	// Error is the last error's text, cut at 2 KiB, and ErrorSHA256 the
	// SHA-256 of the whole in hex. Cause is the text of what it wraps.
	Error       string
	ErrorSHA256 string
	Cause       string

	// Origin is where the message was first published and consumed.
	Origin Origin

	// FirstFailedAt and FailedAt are the first and the last failure.
	FirstFailedAt time.Time
	FailedAt      time.Time

	// NotBefore is when the handler asked not to see the message before; zero
	// when it did not ask.
	NotBefore time.Time

	// Host is where the last failure happened.
	Host string

	// Token is the identity that the producer gave the message (its message
	// id), verbatim, so that it survives a tool that gives copies new ids.
	Token string

	// Trace is the W3C traceparent of the attempt that failed first, so that
	// every later one can be linked to it; empty where nobody traces.
	Trace string
}

// Each calls set for every field of c that is not empty, in a fixed order.
// Values are string or int64; times are RFC 3339 UTC with nanoseconds.
func (c *Capture) Each(set func(name string, value any)) {
	text := func(name, v string) {
		if v != "" {
			set(name, v)
		}
	}
	at := func(name string, t time.Time) {
		if !t.IsZero() {
			set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	set(HeaderVersion, int64(CaptureVersion))
	text(HeaderID, c.ID)
	set(HeaderAttempt, int64(c.Attempt))
	set(HeaderLap, int64(c.Lap))
	set(HeaderCrashes, int64(c.Crashes))
	text(HeaderReason, string(c.Reason))
	text(HeaderError, c.Error)
	text(HeaderErrorSHA256, c.ErrorSHA256)
	text(HeaderCause, c.Cause)
	set(HeaderQueue, c.Origin.Queue)
	set(HeaderExchange, c.Origin.Exchange)
	set(HeaderKey, c.Origin.Key)
	at(HeaderFirstFailedAt, c.FirstFailedAt)
	at(HeaderFailedAt, c.FailedAt)
	at(HeaderNotBefore, c.NotBefore)
	text(HeaderHost, c.Host)
	text(HeaderToken, c.Token)
	text(HeaderTrace, c.Trace)
}

// ReadCapture reads the capture that a message carries. It returns nil and no
// error when there is none, and an error when there is one that does not
// validate; the caller then treats the message as fresh. get returns a
// header's value; integers of any width, strings and byte strings are read.
//
// queue is the queue that the message is consumed from: a capture that names
// another was not made for this consumer (a person moved the message), and
// its counts are not this consumer's. An empty queue accepts any.
func ReadCapture(get func(name string) (any, bool), queue string) (*Capture, error) {
	if _, ok := get(HeaderVersion); !ok {
		return nil, nil
	}
	r := reader{get: get}
	if v := r.count(HeaderVersion, 1); r.err == nil && v != CaptureVersion {
		return nil, fmt.Errorf("broker: capture: version %d is not %d", v, CaptureVersion)
	}
	c := &Capture{
		ID:            r.text(HeaderID),
		Attempt:       r.count(HeaderAttempt, 1),
		Lap:           r.count(HeaderLap, 0),
		Crashes:       r.count(HeaderCrashes, 0),
		Reason:        Reason(r.text(HeaderReason)),
		Error:         r.text(HeaderError),
		ErrorSHA256:   r.text(HeaderErrorSHA256),
		Cause:         r.text(HeaderCause),
		Origin:        Origin{Exchange: r.text(HeaderExchange), Key: r.text(HeaderKey), Queue: r.text(HeaderQueue)},
		FirstFailedAt: r.time(HeaderFirstFailedAt),
		FailedAt:      r.time(HeaderFailedAt),
		NotBefore:     r.time(HeaderNotBefore),
		Host:          r.text(HeaderHost),
		Token:         r.text(HeaderToken),
		Trace:         r.text(HeaderTrace),
	}
	switch {
	case r.err != nil:
		return nil, r.err
	case c.ID == "":
		return nil, fmt.Errorf("broker: capture: %s is missing", HeaderID)
	case c.Reason != "" && !c.Reason.Valid():
		return nil, fmt.Errorf("broker: capture: %s %.40q is not a known reason", HeaderReason, c.Reason)
	case queue != "" && c.Origin.Queue != queue:
		return nil, fmt.Errorf("broker: capture: made for queue %.100q", c.Origin.Queue)
	}
	return c, nil
}

// reader keeps the first error, so that the caller reads as a list of fields.
type reader struct {
	get func(string) (any, bool)
	err error
}

func (r *reader) fail(name string, v any) {
	if r.err == nil {
		r.err = fmt.Errorf("broker: capture: %s has no valid value (%T)", name, v)
	}
}

func (r *reader) text(name string) string {
	switch v, _ := r.get(name); v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	default:
		r.fail(name, v)
		return ""
	}
}

// count reads a whole number from low to 2^31-1. The upper end keeps a forged
// count from overflowing on its way up.
func (r *reader) count(name string, low int64) int {
	v, _ := r.get(name)
	n, ok := integer(v)
	if !ok || n < low || n > math.MaxInt32 {
		r.fail(name, v)
		return 0
	}
	return int(n)
}

func (r *reader) time(name string) time.Time {
	s := r.text(name)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		r.fail(name, s)
	}
	return t
}

func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint32:
		return int64(v), true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	default:
		return 0, false
	}
}
