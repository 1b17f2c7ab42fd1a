package membroker

import (
	"bytes"
	"maps"

	"github.com/holdfast-mq/holdfast/broker"
)

// delivery is one handing-over. The server's lock guards its state.
type delivery struct {
	session *session
	entry   *entry
	round   int
	message *broker.Message
	facts   broker.Facts
	state   state
}

// state is where a delivery's settlement is.
type state uint8

const (
	stateOpen    state = iota
	stateWaiting       // handed over, and waiting for the end of a block
	stateSettled
)

func newDelivery(s *session, e *entry) *delivery {
	d := &delivery{session: s, entry: e, round: s.round}
	d.message, d.facts.Capture, d.facts.CaptureErr = e.view(s.queue.name)
	d.facts.Redelivered = e.redelivered
	delivered := 0
	if s.caps.Counts || s.caps.Attempts {
		delivered = broker.Deliveries(int64(e.crashes) + 1)
	}
	d.message.Attempt, d.facts.Crashes = broker.Count(d.facts.Capture, delivered, s.caps.Attempts)
	if delivered == 0 && e.redelivered {
		d.facts.Crashes++
		d.facts.Unstamped = true
	}
	d.facts.Oversize = s.caps.MaxHeaders > 0 && headerSize(e.message.Headers) > s.caps.MaxHeaders-captureRoom
	return d
}

func (d *delivery) Message() *broker.Message { return d.message }

func (d *delivery) Facts() broker.Facts { return d.facts }

// view is the message as somebody sees it who takes it from queue: bytes of
// its own, as if they had come over a wire.
func (e *entry) view(queue string) (*broker.Message, *broker.Capture, error) {
	m := e.message
	m.Body, m.Headers = bytes.Clone(m.Body), maps.Clone(m.Headers)
	m.Origin = broker.Origin{Exchange: e.exchange, Key: e.key, Queue: queue}
	m.Attempt, m.Lap, m.Redelivered = 1, 0, e.redelivered
	c, err := broker.ReadCapture(headerOf(&m), queue)
	if c != nil {
		m.Origin, m.Attempt, m.Lap = c.Origin, c.Attempt, c.Lap
	}
	return &m, c, err
}

// giveBack marks what the next delivery will know of this one.
func (e *entry) giveBack(charge bool) {
	e.redelivered = true
	if charge {
		e.crashes++
	}
}
