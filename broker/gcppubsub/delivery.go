package gcppubsub

import (
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/holdfast-mq/holdfast/broker"
)

// state is where a delivery is in its life. The session's lock guards it.
type state uint8

const (
	stateOpen    state = iota
	stateHanded        // its settlement is under way
	stateSettled       // or the broker's again
	stateLapsed        // its lease is over, and the broker's again
)

// flow is which of a session's two subscriptions a delivery came from.
type flow uint8

const (
	flowSource flow = iota // the owner's
	flowBack               // ours, of what has come back
	flows
)

// delivery implements [broker.Delivery].
type delivery struct {
	session  *session
	raw      *pubsubpb.PubsubMessage
	ackID    string
	message  broker.Message
	facts    broker.Facts
	flow     flow
	received time.Time
	streamed bool // by a stream, which counts it as long as the broker waits for it

	// The session's lock guards these.
	state   state
	leaving bool      // it is to come again, and its lease is not extended
	round   int       // of Consume
	touched time.Time // when its lease was last extended
}

// Message implements [broker.Delivery].
func (d *delivery) Message() *broker.Message { return &d.message }

// Facts implements [broker.Delivery].
func (d *delivery) Facts() broker.Facts { return d.facts }

func newDelivery(s *session, r *pubsubpb.ReceivedMessage, from flow) *delivery {
	now := time.Now()
	raw := r.GetMessage()
	d := &delivery{session: s, raw: raw, ackID: r.GetAckId(), flow: from, message: read(raw), received: now, touched: now}
	c, err := capture(raw.GetAttributes(), s.source.queue)
	deliveries := broker.Deliveries(int64(r.GetDeliveryAttempt()))
	d.facts = broker.Facts{
		Redelivered: deliveries > 1, Capture: c, CaptureErr: err,
		Oversize: len(raw.GetAttributes()) > maxAttributes-reserve,
	}
	if !s.source.counted() { // a count of a policy that we may not read would charge releases as crashes
		deliveries = 0
	}
	d.message.Attempt, d.facts.Crashes = broker.Count(c, deliveries, s.source.counted())
	if c != nil {
		d.message.Lap = c.Lap
	}
	d.message.Redelivered = d.facts.Redelivered
	d.message.Origin = origin(raw, c, s.names().shortTopic(s.source.topic), s.source.queue)
	return d
}

// key is the ordering key by which deliveries wait for each other; empty where
// they do not.
func (d *delivery) key() string {
	if !d.session.source.ordering {
		return ""
	}
	return d.raw.GetOrderingKey()
}

// subscription is where the delivery is to be acknowledged.
func (d *delivery) subscription() string { return d.session.subscriptions[d.flow] }
