package rabbitmq

import (
	"sync/atomic"

	"github.com/holdfast-mq/holdfast/broker"
)

// The states of a delivery.
const (
	stateOpen int32 = iota
	stateSettling
	stateSettled
)

// delivery is one handing-over of a message. It is the only allocation of the
// driver's own on the way to the handler.
type delivery struct {
	letter
	session *session
	tag     uint64
	state   atomic.Int32
}

// Message implements [broker.Delivery].
func (d *delivery) Message() *broker.Message { return &d.msg }

// Facts implements [broker.Delivery].
func (d *delivery) Facts() broker.Facts {
	n, unstamped := crashes(d.msg.Headers, d.msg.Redelivered, d.capture, d.session.source)
	return broker.Facts{
		Redelivered: d.msg.Redelivered, Crashes: n, Unstamped: unstamped,
		Capture: d.capture, CaptureErr: d.captureErr,
		Oversize: len(d.msg.Headers) > 0 && oversize(d.hopSize()),
	}
}

// Settle implements [broker.Delivery].
func (d *delivery) Settle(s broker.Settlement, done func(error)) {
	if !d.state.CompareAndSwap(stateOpen, stateSettling) {
		done(broker.ErrSettled)
		return
	}
	d.session.settling.add()
	d.session.settle(d, s, done)
}

// settled is the end of every settlement.
func (d *delivery) settled(err error, done func(error)) {
	if err == nil {
		d.state.Store(stateSettled)
	} else {
		d.state.Store(stateOpen)
	}
	done(err)
	d.session.settling.done()
}
