package membroker

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// work is a settlement on its way. The copy is made when it is handed over,
// since neither the capture nor the reply is kept.
type work struct {
	delivery *delivery
	fate     broker.Fate
	copy     *entry
	target   broker.Target
	hide     time.Duration // FateDelay without a copy
	replyTo  string
	done     func(error)
}

// Settle implements [broker.Delivery].
func (d *delivery) Settle(s broker.Settlement, done func(error)) {
	server := d.session.server
	server.lock()
	defer server.unlock()
	w := &work{delivery: d, fate: s.Fate, done: done}
	switch err := d.prepare(w, s); {
	case err != nil:
		w.end(err)
	case w.copy != nil && server.faults.blocked != "":
		d.state = stateWaiting
		d.session.waiting++
		server.faults.waiting = append(server.faults.waiting, w)
	default:
		w.carryOut()
	}
}

// prepare checks what is asked and makes the copy that it takes, if any.
func (d *delivery) prepare(w *work, s broker.Settlement) error {
	switch {
	case d.state != stateOpen:
		return fmt.Errorf("membroker: settle: %w", broker.ErrSettled)
	case d.session.err != nil:
		return fmt.Errorf("membroker: settle: %w", broker.ErrClosed)
	}
	queue := d.session.queue.name
	switch s.Fate {
	case broker.FateDone:
		return d.prepareReply(w, s.Reply)
	case broker.FateDelay:
		return d.prepareDelay(w, s)
	case broker.FateHold:
		return d.prepareWait(w, s, d.session.caps.Hold, HoldQueue(queue), d.session.sub.Hold)
	case broker.FatePark:
		return d.prepareCopy(w, s, true, ParkedQueue(queue))
	case broker.FateRelease:
		if s.Capture != nil {
			return d.prepareCopy(w, s, d.session.caps.Stamp, queue)
		}
	case broker.FateDiscard:
	default:
		return unsupported("fate %d", s.Fate)
	}
	return nil
}

func (d *delivery) prepareDelay(w *work, s broker.Settlement) error {
	if !slices.Contains(d.session.sub.Rungs, s.Delay) {
		return unsupported("a delay of %v, which is not one of the subscription's rungs", s.Delay)
	}
	if caps := d.session.caps; caps.Delay && caps.Attempts {
		w.hide = s.Delay
		if s.Capture != nil {
			w.hide = max(s.Delay, time.Until(s.Capture.NotBefore))
		}
		return nil
	}
	return d.prepareWait(w, s, d.session.caps.Delay, RungQueue(s.Delay), s.Delay)
}

func (d *delivery) prepareCopy(w *work, s broker.Settlement, can bool, to string) error {
	if !can {
		return unsupported("%v", s.Fate)
	}
	w.target = broker.Target{Queue: to}
	w.copy = newEntry(d.message, w.target)
	if s.Capture != nil {
		w.copy.message.Headers = stamped(d.message.Headers, s.Capture)
	}
	return nil
}

func (d *delivery) prepareWait(w *work, s broker.Settlement, can bool, place string, wait time.Duration) error {
	if err := d.prepareCopy(w, s, can, place); err != nil {
		return err
	}
	w.copy.back, w.copy.wait = d.session.queue.name, wait
	return nil
}

func (d *delivery) prepareReply(w *work, r *broker.Reply) error {
	switch {
	case r == nil:
		return nil
	case !d.session.caps.Replies:
		return unsupported("a reply")
	}
	w.replyTo = d.message.ReplyTo
	w.target = broker.Target{Queue: w.replyTo}
	w.copy = newEntry(replyMessage(r, d.message), w.target)
	return nil
}

func replyMessage(r *broker.Reply, request *broker.Message) *broker.Message {
	return &broker.Message{
		Body: r.Body, Headers: r.Headers, ContentType: r.ContentType, Type: r.Type,
		CorrelationID: request.CorrelationID,
	}
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("membroker: %s: %w", fmt.Sprintf(format, args...), broker.ErrUnsupported)
}

// carryOut publishes the copy, and lets the queue forget the delivery once
// that has an outcome that allows it.
func (w *work) carryOut() {
	err := w.publish()
	switch {
	case err == nil && w.hide > 0:
		w.delivery.hide(w.hide)
	case err == nil:
		w.delivery.forget(w.fate == broker.FateRelease && w.copy == nil)
	case errors.Is(err, broker.ErrUnknown):
		w.delivery.state = stateSettled
		w.delivery.session.end(err, true)
	default:
		w.delivery.state = stateOpen
	}
	w.end(err)
}

func (w *work) publish() error {
	if w.copy == nil {
		return nil
	}
	session := w.delivery.session
	err := session.server.store(w.copy, w.target)
	if w.fate == broker.FateDone && errors.Is(err, broker.ErrUnrouted) {
		session.notify(broker.NoticeReplyUnrouted, w.replyTo)
		return nil
	}
	return err
}

// end tells the outcome once the lock is free.
func (w *work) end(err error) {
	w.delivery.session.server.later(func() { w.done(err) })
}

// forget ends an open delivery: it goes back to its queue or is gone.
func (d *delivery) forget(back bool) {
	s, q := d.session, d.session.queue
	d.leave()
	if back {
		d.entry.giveBack(!s.caps.FreeRelease)
		q.putBack(d.entry)
	} else {
		delete(q.out, d.entry)
	}
	q.dispatch()
}

// leave takes a delivery out of its session.
func (d *delivery) leave() {
	s := d.session
	d.state = stateSettled
	delete(s.open, d)
	if d.round == s.round {
		s.sent--
	}
}

// hide lets an open delivery's message come again after a while, counted.
func (d *delivery) hide(wait time.Duration) {
	s, q, e := d.session, d.session.queue, d.entry
	d.leave()
	e.giveBack(true)
	time.AfterFunc(wait, func() {
		s.server.lock()
		defer s.server.unlock()
		if _, hidden := q.out[e]; hidden && s.server.queues[q.name] == q {
			q.putBack(e)
			q.dispatch()
		}
	})
	q.dispatch()
}

// resumeWaiting carries out what waited for the end of a block.
func (s *server) resumeWaiting() {
	waiting := s.faults.waiting
	s.faults.waiting = nil
	for _, w := range waiting {
		if w.delivery.session.err != nil { // an earlier one ended it
			w.end(fmt.Errorf("membroker: settle: %w", broker.ErrClosed))
			continue
		}
		w.delivery.session.waiting--
		w.carryOut()
		w.delivery.session.wake()
	}
}

// cutWaiting ends what waited with a session that is over.
func (s *server) cutWaiting(ended *session) {
	s.faults.waiting = slices.DeleteFunc(s.faults.waiting, func(w *work) bool {
		if w.delivery.session != ended {
			return false
		}
		w.end(fmt.Errorf("membroker: settle: %w", broker.ErrClosed))
		return true
	})
}
