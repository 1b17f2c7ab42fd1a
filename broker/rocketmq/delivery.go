package rocketmq

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// state is where a delivery is in its life. The session's lock guards it.
type state uint8

const (
	stateOpen    state = iota
	stateHanded        // its settlement is under way
	stateSettled       // or the broker's again
)

// delivery implements [broker.Delivery].
type delivery struct {
	session *session
	raw     *record
	message broker.Message
	facts   broker.Facts
	number  int64 // in the order of arrival

	// The session's lock guards these.
	state    state
	round    int // of Consume
	handle   handle
	touched  time.Time // when the broker last began to count its lease
	renewing bool      // the handle is about to be another
	after    func()    // to do once it is
	ending   bool      // the handle is being used up
}

var arrivals atomic.Int64

// Message implements [broker.Delivery].
func (d *delivery) Message() *broker.Message { return &d.message }

// Facts implements [broker.Delivery].
func (d *delivery) Facts() broker.Facts { return d.facts }

// newDelivery reads a message that a pop brought.
func newDelivery(s *session, raw *record, h handle) *delivery {
	d := &delivery{session: s, raw: raw, message: raw.message(), number: arrivals.Add(1), handle: h, touched: time.Now()}
	c, err := raw.properties.capture(s.source.String())
	attempt, crashes := broker.Count(c, broker.Deliveries(int64(raw.reconsumed)+1), true)
	d.facts = broker.Facts{
		Redelivered: raw.reconsumed > 0, Crashes: crashes, Capture: c, CaptureErr: err,
		Oversize: raw.properties.size() > maxHeaders,
	}
	d.message.Attempt, d.message.Redelivered = attempt, d.facts.Redelivered
	d.message.Origin = raw.origin(c, s.source.source)
	if c != nil {
		d.message.Lap = c.Lap
	}
	if c != nil && raw.reconsumed == 0 && raw.properties[propertyHeld] != "" {
		s.notify(broker.NoticeReturned, c.ID)
	}
	return d
}
