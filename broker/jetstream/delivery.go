package jetstream

import (
	"math"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

// state is where a delivery is in its life. The session's lock guards it.
type state uint8

const (
	stateOpen    state = iota
	stateHanded        // its settlement is under way
	stateTold          // and the server was told; its answer is to come
	stateSettled       // or the server's again
)

// flow is which of a session's two consumers a delivery came from.
type flow uint8

const (
	flowSource flow = iota // the owner's
	flowBack               // ours, of what has come back
	flows
)

// delivery implements [broker.Delivery].
type delivery struct {
	session *session
	raw     *nats.Msg
	message broker.Message
	facts   broker.Facts
	flow    flow
	seq     uint64 // of the stream
	stored  int64  // when the stream got it, in Unix ns

	// The session's lock guards these.
	state   state
	round   int       // of Consume
	touched time.Time // when the server last began to wait for its ack
}

// Message implements [broker.Delivery].
func (d *delivery) Message() *broker.Message { return &d.message }

// Facts implements [broker.Delivery].
func (d *delivery) Facts() broker.Facts { return d.facts }

// newDelivery reads a message that a pull brought. A message whose ack subject
// cannot be read was not sent by a consumer.
func newDelivery(s *session, raw *nats.Msg, from flow) (*delivery, error) {
	meta, err := raw.Metadata()
	if err != nil {
		return nil, err
	}
	d := &delivery{
		session: s, raw: raw, flow: from, message: read(raw.Header, raw.Data),
		seq: meta.Sequence.Stream, stored: meta.Timestamp.UnixNano(), touched: time.Now(),
	}
	queue := s.sub.Queue
	c, err := capture(raw.Header, queue)
	d.facts = broker.Facts{Redelivered: meta.NumDelivered > 1, Capture: c, CaptureErr: err}
	d.message.Attempt, d.facts.Crashes = count(meta.NumDelivered, c)
	d.message.Redelivered = d.facts.Redelivered
	d.message.Origin = origin(raw.Header, c, meta.Stream, raw.Subject, queue, from)
	if c != nil {
		d.message.Lap = c.Lap
	}
	return d, nil
}

// count resolves what JetStream counted. It counts every delivery, also one
// that was prefetched and never looked at, and its count may fall after the
// server was killed: it is evidence of a crash and of nothing else. A copy
// begins at 1 again.
func count(delivered uint64, c *broker.Capture) (attempt, crashes int) {
	return broker.Count(c, broker.Deliveries(int64(min(delivered, math.MaxInt64))), false)
}

// origin is where the message was first published. What came back was
// published by us, and says where it came from.
func origin(h nats.Header, c *broker.Capture, stream, subject, queue string, from flow) broker.Origin {
	switch {
	case c != nil:
		return c.Origin
	case from == flowBack:
		stream, subject = first(h, headerStream), first(h, headerKey)
	}
	return broker.Origin{Exchange: stream, Key: subject, Queue: queue}
}

// id names the delivered message for good: a copy of it that is made again
// has the same id, so that the server stores it once. The sequence alone would
// begin anew with a stream that was made again, and a consumer that was made
// again delivers what was settled before.
func (d *delivery) id() string {
	from := [flows]string{"s", "b"}[d.flow]
	return from + strconv.FormatUint(d.seq, 10) + "-" + strconv.FormatInt(d.stored, 36) + "-" + d.session.source.created
}
