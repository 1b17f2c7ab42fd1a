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

	// ackBatch is how many acks are sent at most behind one that is not
	// answered yet.
	ackBatch = 64
)

// acker acknowledges the deliveries of one consumer. The server handles the
// acks of one connection to one consumer in order, so that the answer to the
// last of a batch stands for all of it: each ack is known to have arrived, for
// a fraction of the answers. The first goes at once, and the next batch is
// what gathers until it is answered.
type acker struct {
	session *session

	mu      sync.Mutex
	waiting []settled
	asked   int // batches that are not answered yet
}

// settled is a delivery whose fate is durable.
type settled struct {
	delivery *delivery
	done     func(error)
}

func (a *acker) add(d *delivery, done func(error)) {
	a.mu.Lock()
	a.waiting = append(a.waiting, settled{d, done})
	batch := a.next()
	a.mu.Unlock()
	a.send(batch)
}

// next takes the batch that may go now. The lock is held.
func (a *acker) next() []settled {
	if len(a.waiting) == 0 || a.asked > 0 && len(a.waiting) < ackBatch {
		return nil
	}
	batch := a.waiting
	a.waiting = nil
	a.asked++
	return batch
}

func (a *acker) send(batch []settled) {
	if len(batch) == 0 {
		return
	}
	c, last := a.session.conn, len(batch)-1
	for _, s := range batch[:last] {
		_ = c.nc.Publish(s.delivery.raw.Reply, ackDone) // an error is the connection's, and meets the last one too
	}
	m := &nats.Msg{Subject: batch[last].delivery.raw.Reply, Data: ackDone}
	c.calls.ask(m, ackTimeout, func(_ *nats.Msg, err error) { a.answered(batch, err) })
}

func (a *acker) answered(batch []settled, err error) {
	if err = a.session.unanswered(err); err != nil {
		err = a.session.ackFailed(err)
	}
	for _, s := range batch {
		a.session.finish(s.delivery, s.done, err)
	}
	a.mu.Lock()
	a.asked--
	next := a.next()
	a.mu.Unlock()
	a.send(next)
}

// unanswered forgives an ack that was sent on a connection that was lost
// before the answer: the fate is durable and the server was told. If it did
// not hear it the message comes again, and is then one that was settled twice.
// To call it released would be wrong whenever the server did hear.
func (s *session) unanswered(err error) error {
	if err != nil && !s.conn.alive() && !errors.Is(err, nats.ErrConnectionClosed) {
		return nil
	}
	return err
}

// ackFailed ends the session: the server redelivers what it does not know to
// be settled.
func (s *session) ackFailed(err error) error {
	err = fmt.Errorf("jetstream: an acknowledgement was not answered, and the message may come again: %w: %w", broker.ErrUnknown, err)
	s.end(err)
	return err
}
