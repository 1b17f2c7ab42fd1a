package jetstream

import (
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

// JetStream has no properties but a message id: the others are headers of
// these names.
const (
	headerMessageID       = "Message-Id" // of a copy, whose Nats-Msg-Id is its own
	headerCorrelationID   = "Correlation-Id"
	headerReplyTo         = "Reply-To"
	headerContentType     = "Content-Type"
	headerContentEncoding = "Content-Encoding"
	headerType            = "Type"
	headerAppID           = "App-Id"
	headerTimestamp       = "Timestamp"
)

// The server's own headers. Each asks something of it or tells something of
// one delivery, so that no copy keeps any.
const (
	serverPrefix         = "Nats-"
	headerNatsID         = nats.MsgIdHdr
	headerExpectStream   = nats.ExpectedStreamHdr
	headerTTL            = "Nats-TTL"
	headerSchedule       = "Nats-Schedule"
	headerScheduleTarget = "Nats-Schedule-Target"
	headerScheduler      = "Nats-Scheduler"
	headerScheduleNext   = "Nats-Schedule-Next"
	headerMsgSize        = "Nats-Msg-Size" // of a body that a consumer was told to leave out

	headerExpectSequence   = nats.ExpectedLastSubjSeqHdr
	headerExpectSequenceOf = "Nats-Expected-Last-Subject-Sequence-Subject"
)

// A copy without a capture shows the route that it was given. These headers are
// hidden from everyone who reads a message.
const (
	ownPrefix    = "Holdfast-"
	headerStream = ownPrefix + "Stream"
	headerKey    = ownPrefix + "Subject"
	headerPacked = ownPrefix + "Header" // one that the client does not write as it is
)

var properties = map[string]bool{
	headerMessageID: true, headerCorrelationID: true, headerReplyTo: true, headerContentType: true,
	headerContentEncoding: true, headerType: true, headerAppID: true, headerTimestamp: true,
}

// shown reports whether a header is one of the message's own, as opposed to a
// property, the server's, or the driver's.
func shown(name string) bool {
	return !properties[name] && !strings.HasPrefix(name, serverPrefix) && !strings.HasPrefix(name, ownPrefix)
}

// read turns a stored message into the core's view of it.
func read(h nats.Header, body []byte) broker.Message {
	if len(h) == 0 {
		return broker.Message{Body: body, Attempt: 1}
	}
	m := broker.Message{
		Body: body, ID: first(h, headerMessageID), CorrelationID: first(h, headerCorrelationID), ReplyTo: first(h, headerReplyTo),
		ContentType: first(h, headerContentType), ContentEncoding: first(h, headerContentEncoding),
		Type: first(h, headerType), AppID: first(h, headerAppID), Attempt: 1,
	}
	if m.ID == "" {
		m.ID = producerID(h)
	}
	if at, err := time.Parse(time.RFC3339Nano, first(h, headerTimestamp)); err == nil {
		m.Timestamp = at
	}
	for name, values := range h {
		if shown(name) {
			if m.Headers == nil {
				m.Headers = make(map[string]any, len(h))
			}
			m.Headers[name] = value(name, values)
		}
	}
	if packed := h[headerPacked]; packed != nil {
		if m.Headers == nil {
			m.Headers = make(map[string]any, len(packed))
		}
		for name, values := range unpack(packed) {
			m.Headers[name] = value(name, values)
		}
	}
	return m
}

// producerID is the message's id for the server, where a producer gave it.
func producerID(h nats.Header) string {
	if id := first(h, headerNatsID); !strings.HasPrefix(id, ownID) {
		return id
	}
	return ""
}

// first is h.Get without its change of case: NATS headers have the case that
// they were given.
func first(h nats.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func value(name string, values []string) any {
	if broker.CaptureField(name) {
		return unescape(values[0])
	}
	if len(values) == 1 {
		return values[0]
	}
	return values
}

// capture reads the capture that a message carries, if it was made for queue.
func capture(h nats.Header, queue string) (*broker.Capture, error) {
	if _, ok := h[broker.HeaderVersion]; !ok {
		return nil, nil
	}
	return broker.ReadCapture(func(name string) (any, bool) {
		v, ok := h[name]
		if !ok || len(v) == 0 {
			return nil, false
		}
		return unescape(v[0]), true
	}, queue)
}

// carried copies the headers that want wants, and never the server's; the
// message id stays as a property, since the copy's own is for deduplication.
func carried(h nats.Header, want func(name string) bool) nats.Header {
	out := make(nats.Header, len(h)+24)
	for name, values := range h {
		switch {
		case strings.HasPrefix(name, serverPrefix), strings.HasPrefix(name, ownPrefix), !want(name):
		case writable(name, values):
			out[name] = values
		default:
			out[headerPacked] = append(out[headerPacked], pack(name, values)...)
		}
	}
	if packed := h[headerPacked]; packed != nil {
		out[headerPacked] = append(out[headerPacked], packed...)
	}
	if id := producerID(h); id != "" && first(out, headerMessageID) == "" {
		out[headerMessageID] = []string{id}
	}
	if ttl := first(h, headerTTL); ttl != "" {
		out[broker.HeaderExpiration] = []string{ttl}
	}
	return out
}

// replacing leaves room for a new capture; keeping keeps the one that is
// there; fresh leaves all that failure added behind.
func replacing(name string) bool { return !broker.CaptureField(name) }
func keeping(string) bool        { return true }
func fresh(name string) bool     { return !broker.FailureField(name) }

// route is where a copy without a capture says that it came from.
func route(h nats.Header, stream, key string) {
	h[headerStream], h[headerKey] = []string{stream}, []string{key}
}
