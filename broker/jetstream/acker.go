package jetstream

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

// What a consumer is told of a delivery.
var (
	ackDone     = []byte("+ACK")
	ackNak      = []byte("-NAK")
	ackProgress = []byte("+WPI")
)

const (
	// ackTimeout bounds the wait for the server's answer to an ack.
	ackTimeout = 5 * time.Second

	// ackBatch is how many acks go together at most, and ackLinger how long
	// the first of them waits for the others while more may be expected.
	ackBatch  = 32
	ackLinger = time.Millisecond
)

// acker acknowledges the deliveries of one consumer. The server handles the
// acks of one connection to one consumer in order, so that the answer to the
// last of a batch stands for all of it: each ack is known to have arrived, for
// a fraction of the answers.
type acker struct {
	session *session

	mu      sync.Mutex
	waiting []settled
	linger  *time.Timer
}

// settled is a delivery whose fate is durable.
type settled struct {
	delivery *delivery
	done     func(error)
}

func newAcker(s *session) *acker {
	a := &acker{session: s}
	a.linger = time.AfterFunc(time.Hour, a.flush)
	a.linger.Stop()
	return a
}

// add acknowledges d with the next batch: at once where nothing else is in
// hand that could join it.
func (a *acker) add(d *delivery, done func(error)) {
	alone := a.session.alone()
	a.mu.Lock()
	a.waiting = append(a.waiting, settled{d, done})
	n := len(a.waiting)
	if n == 1 && !alone {
		a.linger.Reset(ackLinger)
	}
	a.mu.Unlock()
	if alone || n >= ackBatch {
		a.flush()
	}
}

// alone reports whether all that is in hand is being settled already, and
// nothing is asked for.
func (s *session) alone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) <= s.handed && s.asking == 0
}

func (a *acker) flush() {
	a.mu.Lock()
	batch := a.waiting
	a.waiting = nil
	a.linger.Stop()
	a.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	c, last := a.session.conn, len(batch)-1
	for i, s := range batch[:last] {
		if err := c.nc.Publish(s.delivery.raw.Reply, ackDone); err != nil {
			a.answered(batch, i, fmt.Errorf("%w: %w", errUnsent, err)) // the connection ends
			return
		}
	}
	m := &nats.Msg{Subject: batch[last].delivery.raw.Reply, Data: ackDone}
	c.calls.ask(m, ackTimeout, func(_ *nats.Msg, err error) { a.answered(batch, last, err) })
	a.session.tell(batch)
}

// tell frees the places of deliveries that the server was told of.
func (s *session) tell(batch []settled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range batch {
		if b.delivery.state == stateHanded {
			s.told(b.delivery)
		}
	}
}

// answered is told the outcome of a batch of which so many were sent when that
// of the next became known: as its answer, or as that it could not be sent.
//
// It forgives those that were sent on a connection that was lost before the
// answer: the fate is durable and the server was told. If it did not hear it
// the message comes again, and is then one that was settled twice. To call it
// released would be wrong whenever the server did hear: it would have no fate
// and never come again.
func (a *acker) answered(batch []settled, sent int, err error) {
	s := a.session
	switch {
	case errors.Is(err, errUnsent):
		a.finish(batch[:sent], nil)
		a.finish(batch[sent:], s.ackFailed(err))
	case err != nil && s.conn.alive():
		a.finish(batch, s.ackFailed(err))
	default:
		a.finish(batch, nil)
	}
}

func (a *acker) finish(batch []settled, err error) {
	for _, s := range batch {
		a.session.finish(s.delivery, s.done, err)
	}
}

// ackFailed ends the session: the server redelivers what it does not know to
// be settled.
func (s *session) ackFailed(err error) error {
	err = fmt.Errorf("jetstream: an acknowledgement was not answered, and the message may come again: %w: %w", broker.ErrUnknown, err)
	s.end(err)
	return err
}
