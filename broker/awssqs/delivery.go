package awssqs

import (
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// state is where a delivery is in its life. The session's lock guards it.
type state uint8

const (
	stateOpen    state = iota
	stateHanded        // its settlement is under way, and its lease is kept
	stateLeaving       // SQS is being told what becomes of it
	stateSettled
	stateLost // its lease ended before it was settled
)

// delivery implements [broker.Delivery].
type delivery struct {
	session *session
	letter  *letter
	message broker.Message
	facts   broker.Facts
	wall    time.Time // when SQS takes it back, whatever is asked

	// The session's lock guards these.
	state   state
	read    bool // handed out by Receive
	round   int  // of Consume
	order   int  // in which it was received
	until   time.Time
	beating bool   // its lease is being extended
	after   func() // what waits for the end of that
}

// Message implements [broker.Delivery].
func (d *delivery) Message() *broker.Message { return &d.message }

// Facts implements [broker.Delivery].
func (d *delivery) Facts() broker.Facts { return d.facts }

// newDelivery reads a message that was received just now.
func newDelivery(s *session, l *letter, now time.Time) *delivery {
	d := &delivery{
		session: s, letter: l, message: l.view(), until: now.Add(sure(s.broker.conf.Lease)), wall: now.Add(longestHidden - wallMargin),
	}
	c, err := l.capture(s.sub.Queue)
	d.facts = broker.Facts{Redelivered: l.receives > 1, Capture: c, CaptureErr: err, Oversize: l.oversize()}
	d.message.Attempt, d.facts.Crashes = broker.Count(c, l.receives, true)
	d.message.Redelivered = d.facts.Redelivered
	d.message.Origin = l.origin(c, s.sub.Queue)
	if c != nil {
		d.message.Lap = c.Lap
	}
	return d
}
