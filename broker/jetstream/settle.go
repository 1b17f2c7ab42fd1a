package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

// Settle implements [broker.Delivery].
func (d *delivery) Settle(set broker.Settlement, done func(error)) {
	s := d.session
	if err := s.hand(d); err != nil {
		done(err)
		return
	}
	switch copied, stream, err := d.copyFor(set); {
	case err != nil:
		s.reopen(d)
		done(err)
	case copied != nil:
		s.store(d, copied, stream, done)
	case set.Fate == broker.FateRelease:
		s.release(d, done)
	default:
		s.acks[d.flow].add(d, done)
	}
}

// hand lets one settlement of a delivery begin.
func (s *session) hand(d *delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return fmt.Errorf("jetstream: settle: %w", broker.ErrClosed)
	case d.state != stateOpen:
		return fmt.Errorf("jetstream: settle: %w", broker.ErrSettled)
	}
	d.state = stateHanded
	s.handed++
	return nil
}

// reopen takes back a settlement that was not carried out.
func (s *session) reopen(d *delivery) {
	s.mu.Lock()
	d.state = stateOpen
	s.handed--
	over := s.err != nil
	if over { // and its end did not take the delivery along
		s.forget(d)
	}
	s.wake()
	s.mu.Unlock()
	if over {
		s.broker.lose(d)
	}
}

// finish ends a settlement that was carried out, or whose outcome nobody knows.
func (s *session) finish(d *delivery, done func(error), err error) {
	s.mu.Lock()
	s.handed--
	s.forget(d)
	s.mu.Unlock()
	if err != nil { // and the session is over
		s.broker.lose(d)
	}
	done(err)
}

func (s *session) names() names { return s.broker.names }

// copyFor makes the copy that a settlement takes, and says in which stream it
// belongs. Without one it returns nil.
func (d *delivery) copyFor(set broker.Settlement) (letter, string, error) {
	s := d.session
	n, src := s.names(), s.source.source
	switch set.Fate {
	case broker.FateDone:
		if set.Reply != nil {
			return nil, "", unsupported("a reply: JetStream does not keep a request's reply address")
		}
		return nil, "", nil
	case broker.FateDiscard:
		return nil, "", nil
	case broker.FateDelay:
		if !slices.Contains(s.sub.Rungs, set.Delay) {
			return nil, "", unsupported("a delay of %v, which is not one of the subscription's rungs", set.Delay)
		}
		return d.waiting(set, waitRetry, set.Delay)
	case broker.FateHold:
		if s.source.transient {
			return nil, "", unsupported("a hold for %v, which may be gone when it ends", src)
		}
		return d.waiting(set, waitHold, s.sub.Hold)
	case broker.FatePark:
		m, err := d.captured(set, n.parked(src), n.parkedStream(), "park")
		return m, n.parkedStream(), err
	case broker.FateRelease:
		if set.Capture == nil {
			return nil, "", nil
		}
		m, err := d.captured(set, n.back(src), n.workStream(), "release")
		return m, n.workStream(), err
	default:
		return nil, "", unsupported("fate %d", set.Fate)
	}
}

func (d *delivery) captured(set broker.Settlement, subject, stream, as string) (letter, error) {
	m, err := captured(subject, d.raw.Header, d.raw.Data, set.Capture, d.session.conn.nc.MaxPayload())
	if err == nil {
		once(m, stream, as+"-"+d.id())
	}
	return m, err
}

// waiting makes a copy that the server moves back when its time has come. One
// that is made again has the subject of the first and takes its place.
func (d *delivery) waiting(set broker.Settlement, kind string, wait time.Duration) (letter, string, error) {
	s := d.session
	n, src := s.names(), s.source.source
	m, err := d.captured(set, n.wait(src, kind, d.id()), n.workStream(), kind)
	if err == nil {
		scheduled(m, n.back(src), time.Now().Add(s.source.skew+wait))
	}
	return m, n.workStream(), err
}

// store publishes the copy and acknowledges the original once the server has
// it.
func (s *session) store(d *delivery, m letter, stream string, done func(error)) {
	s.conn.calls.ask(m, s.conn.call, func(answer *nats.Msg, err error) {
		switch err = stored(answer, stream, err); {
		case err == nil:
			s.acks[d.flow].add(d, done)
		case errors.Is(err, broker.ErrUnknown):
			s.end(err)
			s.finish(d, done, err)
		default:
			s.reopen(d)
			done(err)
		}
	})
}

// stored reads the answer to a publish.
func stored(answer *nats.Msg, stream string, err error) error {
	switch {
	case errors.Is(err, errNobody):
		return fmt.Errorf("jetstream: no stream takes the copy, %s is gone: %w", stream, broker.ErrUnrouted)
	case errors.Is(err, broker.ErrPermission), isAny(err, nats.ErrMaxPayload, nats.ErrBadHeaderMsg, nats.ErrHeadersNotSupported, nats.ErrBadSubject):
		return fmt.Errorf("jetstream: the copy was not sent: %w: %w", broker.ErrRefused, err)
	case err != nil:
		return fmt.Errorf("jetstream: the copy has no PubAck: %w: %w", broker.ErrUnknown, err)
	}
	var ack struct {
		Stream   string              `json:"stream"`
		Sequence uint64              `json:"seq"`
		Error    *jetstream.APIError `json:"error"`
	}
	switch err := json.Unmarshal(answer.Data, &ack); {
	case err != nil:
		return fmt.Errorf("jetstream: the PubAck cannot be read: %w: %w", broker.ErrUnknown, err)
	case ack.Error != nil:
		return fmt.Errorf("jetstream: stream %s did not take the copy: %w: %w", stream, broker.ErrRefused, ack.Error)
	case ack.Sequence == 0 || ack.Stream != stream:
		return fmt.Errorf("jetstream: the answer to a copy for %s is no PubAck of it: %w", stream, broker.ErrUnknown)
	}
	return nil
}

// release gives the delivery back. JetStream counts it.
func (s *session) release(d *delivery, done func(error)) {
	m := &nats.Msg{Subject: d.raw.Reply, Data: ackNak}
	s.conn.calls.ask(m, ackTimeout, func(_ *nats.Msg, err error) {
		if err != nil {
			err = s.ackFailed(err)
		}
		s.finish(d, done, err)
	})
}
