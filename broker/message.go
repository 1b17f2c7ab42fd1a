package broker

import "time"

// Message is a message as a consumer sees it.
type Message struct {
	// Body is the payload, byte for byte. It must not be changed: retried and
	// parked copies are made from it.
	Body []byte

	// Headers are the message's headers (attributes, properties) with the
	// broker's own value types, those of Holdfast and of the broker included.
	// It may be nil and must not be changed.
	Headers map[string]any

	// ID is the producer's message id, if it gave one.
	ID string

	// CorrelationID and ReplyTo belong to requests.
	CorrelationID string
	ReplyTo       string

	// ContentType and ContentEncoding say how Body is to be read.
	ContentType     string
	ContentEncoding string

	// Type and AppID are the producer's names for the message and for itself.
	Type  string
	AppID string

	// Timestamp is when the producer published, by its own clock; zero if it
	// did not say.
	Timestamp time.Time

	// Origin is where the message was first published. A message that waited
	// on a rung or in a hold still shows its first exchange and key here.
	Origin Origin

	// Attempt is which delivery to the handler this is, counted from 1 as the
	// budget counts it.
	Attempt int

	// Try is which invocation inside the attempt this is, counted from 1.
	Try int

	// Lap is how many holds the message has been through.
	Lap int

	// Redelivered says that the broker handed this delivery out before. The
	// handler may have run already: it must be idempotent.
	Redelivered bool
}

// Origin is where a message was first published. It is recorded on the first
// failure and never overwritten.
type Origin struct {
	// Exchange is the exchange or topic; empty for a broker without one and
	// for RabbitMQ's default exchange.
	Exchange string

	// Key is the routing key or subject.
	Key string

	// Queue is the queue or subscription that the message was consumed from.
	Queue string
}

// Facts is what a driver knows of one delivery. Facts are not decisions: the
// bounds they are held against belong to the core.
type Facts struct {
	// Redelivered is the broker's word that this delivery was handed out
	// before.
	Redelivered bool

	// Crashes is how many deliveries of this message ended without a
	// settlement, as far as the broker's counter and the message's own stamp
	// can tell. Where a broker cannot tell a crash from another loss of the
	// consumer, it counts both.
	Crashes int

	// Unstamped says that this broker keeps no count: the last of Crashes is
	// known only from Redelivered and would be forgotten by the next
	// delivery. The core releases such a delivery with a stamp before it lets
	// the message run.
	Unstamped bool

	// Capture is the valid capture that the message carries, or nil. A
	// capture that does not validate is nil here and the message is fresh;
	// CaptureErr says why.
	Capture    *Capture
	CaptureErr error

	// Oversize says that the message's own headers leave no room for a copy
	// that can take a rung or a hold. It can still be parked.
	Oversize bool
}
