package rocketmq

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// ackTimeout bounds the wait for the answer to an acknowledgement, and to any
// other end of a lease.
const ackTimeout = 5 * time.Second

// timerStep is how much sooner than asked a broker's timer may give a message
// back.
const timerStep = time.Second

// Settle implements [broker.Delivery].
func (d *delivery) Settle(set broker.Settlement, done func(error)) {
	s := d.session
	if err := d.unsupported(set); err != nil {
		done(err)
		return
	}
	if err := s.hand(d); err != nil {
		done(err)
		return
	}
	s.carryOut(d, set, done)
}

// unsupported says what of a settlement this driver cannot do.
func (d *delivery) unsupported(set broker.Settlement) error {
	switch {
	case set.Reply != nil:
		return unsupported("a reply")
	case set.Fate < broker.FateDone || set.Fate > broker.FateRelease:
		return unsupported("fate %d", set.Fate)
	case set.Fate == broker.FateDelay && !slices.Contains(d.session.sub.Rungs, set.Delay):
		return unsupported("a delay of %v, which is not one of the subscription's rungs", set.Delay)
	}
	return nil
}

// hand lets one settlement of a delivery begin.
func (s *session) hand(d *delivery) error {
	s.mu.Lock()
	switch {
	case s.err != nil:
		s.mu.Unlock()
		return fmt.Errorf("rocketmq: settle: %w", broker.ErrClosed)
	case d.state != stateOpen:
		s.mu.Unlock()
		return fmt.Errorf("rocketmq: settle: %w", broker.ErrSettled)
	case s.lapsed(d):
		s.mu.Unlock()
		s.end(s.errLapsed())
		return fmt.Errorf("%w: %w", broker.ErrClosed, s.errLapsed())
	}
	d.state = stateHanded
	s.handed++
	s.mu.Unlock()
	return nil
}

func (s *session) carryOut(d *delivery, set broker.Settlement, done func(error)) {
	n := s.broker.names
	switch {
	case set.Fate == broker.FateDone || set.Fate == broker.FateDiscard:
		s.acknowledge(d, done)
	case set.Fate == broker.FateDelay:
		s.giveLater(d, s.delay(set), done)
	case set.Fate == broker.FateRelease && set.Capture == nil:
		s.giveLater(d, 0, done)
	case set.Fate == broker.FatePark:
		s.store(d, set, n.parked(s.source.source), 0, done)
	case set.Fate == broker.FateHold:
		s.store(d, set, s.source.returns(), s.bounded(s.sub.Hold), done)
	default:
		s.store(d, set, s.source.returns(), 0, done)
	}
}

// delay is how long the message waits on a rung: also until the handler wants
// to see it again.
func (s *session) delay(set broker.Settlement) time.Duration {
	wait := set.Delay
	if set.Capture != nil && !set.Capture.NotBefore.IsZero() {
		wait = max(wait, time.Until(set.Capture.NotBefore))
	}
	return s.bounded(wait)
}

// bounded is as much of a wait as the broker can give.
func (s *session) bounded(wait time.Duration) time.Duration {
	longest := s.source.settings.longest - time.Minute // what else it needs the timer for
	if wait <= longest {
		return wait
	}
	s.mu.Lock()
	told := s.clamped
	s.clamped = true
	s.mu.Unlock()
	if !told {
		s.notify(broker.NoticeWarning, fmt.Sprintf("queue %v: a wait of %v is longer than the broker's timer can give: it ends after %v (timerMaxDelaySec)",
			s.source.source, wait, longest))
	}
	return longest
}

// acknowledge lets the broker forget the delivery.
func (s *session) acknowledge(d *delivery, done func(error)) {
	s.whenKnown(d, s.lapse(d, done), func() {
		s.site(d.handle.broker).conn.ack(d.handle, s.source.group, func(err error) { s.told(d, done, err) })
	})
}

// giveLater lets the broker give the message out again after wait.
func (s *session) giveLater(d *delivery, wait time.Duration, done func(error)) {
	s.whenKnown(d, s.lapse(d, done), func() {
		d.afterGap(func() {
			s.site(d.handle.broker).conn.hide(d.handle, s.source.group, wait, func(_ handle, err error) { s.told(d, done, err) })
		})
	})
}

// lapse ends a settlement that came too late.
func (s *session) lapse(d *delivery, done func(error)) func() {
	return func() { s.told(d, done, fmt.Errorf("%w: %w", errTimeout, s.errLapsed())) }
}

// told ends a settlement of which the broker was told. Without its answer the
// message may come again, and nothing more can be known on this session. Where
// the connection was lost before the answer, the fate is durable and the broker
// was told: to call that released would be wrong whenever it did hear.
func (s *session) told(d *delivery, done func(error), err error) {
	switch {
	case errors.Is(err, errUnanswered):
		err = nil
	case notSent(err):
		s.cutOff(d, done, err)
		return
	}
	if err != nil {
		err = fmt.Errorf("rocketmq: the end of a delivery was not confirmed, and the message may come again: %w: %w", broker.ErrUnknown, err)
		s.end(err)
	}
	s.finish(d, done, err)
}

// store sends a copy to a topic of the delivery's own broker, and acknowledges
// the original once the broker has stored it.
func (s *session) store(d *delivery, set broker.Settlement, topic string, wait time.Duration, done func(error)) {
	m, err := captured(d.raw, set.Capture)
	if err != nil {
		s.reopen(d)
		done(err)
		return
	}
	if set.Fate == broker.FateHold {
		m.properties[propertyHeld] = "1"
		m.properties[propertyDeliverAt] = number(time.Now().Add(wait + timerStep).UnixMilli())
	}
	s.site(d.handle.broker).conn.send(m, topic, 0, func(_ *command, err error) {
		switch err = stored(topic, err); {
		case err == nil:
			s.acknowledge(d, done)
		case notSent(err):
			s.cutOff(d, done, err)
		case errors.Is(err, broker.ErrUnknown):
			s.end(err)
			s.finish(d, done, err)
		default:
			s.reopen(d)
			done(err)
		}
	})
}

// cutOff ends a settlement of which nothing was sent. The next session gives
// the delivery back.
func (s *session) cutOff(d *delivery, done func(error), err error) {
	s.end(err)
	s.lose([]*delivery{d})
	s.finish(d, done, fmt.Errorf("rocketmq: settle: %w: %w", broker.ErrClosed, err))
}

// reopen takes back a settlement that was not carried out.
func (s *session) reopen(d *delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.state, d.ending = stateOpen, false
	s.handed--
	if s.err != nil { // the end of the session did not take it along
		s.forget(d)
	}
	s.wake()
}

// finish ends a settlement that was carried out, or whose outcome nobody knows.
func (s *session) finish(d *delivery, done func(error), err error) {
	s.mu.Lock()
	s.handed--
	s.forget(d)
	s.mu.Unlock()
	done(err)
}
