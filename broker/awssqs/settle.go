package awssqs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// ackTimeout bounds what tells SQS to forget a delivery.
const ackTimeout = 5 * time.Second

// Work on its way, in batches.
type (
	acked struct {
		delivery *delivery
		done     func(error)
	}
	hidden struct {
		delivery *delivery
		seconds  int32
		done     func(error)
	}
)

// Settle implements [broker.Delivery].
func (d *delivery) Settle(set broker.Settlement, done func(error)) {
	s := d.session
	if err := s.hand(d); err != nil {
		done(err)
		return
	}
	if err := s.carryOut(d, set, done); err != nil {
		s.reopen(d)
		done(err)
	}
}

// hand lets one settlement of a delivery begin.
func (s *session) hand(d *delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return fmt.Errorf("awssqs: settle: %w", broker.ErrClosed)
	case d.state == stateLost:
		return errLost(d)
	case d.state != stateOpen:
		return fmt.Errorf("awssqs: settle: %w", broker.ErrSettled)
	case time.Now().After(d.until):
		s.forget(d, stateLost)
		return errLost(d)
	}
	d.state = stateHanded
	s.handed++
	return nil
}

// carryOut starts what a settlement asks. With an error nothing was begun.
func (s *session) carryOut(d *delivery, set broker.Settlement, done func(error)) error {
	queue := s.sub.Queue
	switch set.Fate {
	case broker.FateDone:
		if set.Reply != nil {
			return unsupported("a reply: SQS has no reply addresses")
		}
		s.forgetAt(d, done)
	case broker.FateDiscard:
		s.forgetAt(d, done)
	case broker.FateDelay:
		if !slices.Contains(s.sub.Rungs, set.Delay) {
			return unsupported("a delay of %v, which is not one of the subscription's rungs", set.Delay)
		}
		s.hide(d, s.clamp(d, delayOf(set)), done)
	case broker.FateHold:
		return s.copy(d, set.Capture, s.broker.names.holdOf(queue), copyHold, done)
	case broker.FatePark:
		return s.copy(d, set.Capture, s.broker.names.parkedOf(queue), copyPark, done)
	case broker.FateRelease:
		if set.Capture != nil {
			return s.copy(d, set.Capture, queue, copyBack, done)
		}
		s.hide(d, 0, done)
	default:
		return unsupported("fate %d", set.Fate)
	}
	return nil
}

// delayOf is the rung, or longer where the handler asked for longer: the
// capture that says so is not kept, so that all of it is waited for at once.
func delayOf(set broker.Settlement) time.Duration {
	if set.Capture == nil || set.Capture.NotBefore.IsZero() {
		return set.Delay
	}
	return max(set.Delay, time.Until(set.Capture.NotBefore))
}

// forgetAt deletes the original.
func (s *session) forgetAt(d *delivery, done func(error)) {
	s.leave(d, func() { s.acks.add(acked{d, done}) })
}

// hide lets SQS show the message again after a while, counted.
func (s *session) hide(d *delivery, wait time.Duration, done func(error)) {
	s.leave(d, func() { s.hides.add(hidden{d, seconds(wait), done}) })
}

// leave stops the keeping of a delivery's lease before tell is called: an
// extension that arrives after it would undo it.
func (s *session) leave(d *delivery, tell func()) {
	s.mu.Lock()
	d.state = stateLeaving
	if d.beating {
		d.after, tell = tell, nil
	}
	s.mu.Unlock()
	if tell != nil {
		tell()
	}
}

func (s *session) acknowledge(batch []acked) {
	receipts := make([]string, len(batch))
	for i, a := range batch {
		receipts[i] = a.delivery.letter.receipt
	}
	ctx, cancel := context.WithTimeout(context.Background(), ackTimeout)
	defer cancel()
	for i, err := range s.client.remove(ctx, s.source.url, receipts) {
		s.finish(batch[i].delivery, batch[i].done, s.told(err))
	}
}

func (s *session) changeVisibility(batch []hidden) {
	hidings := make([]hiding, len(batch))
	for i, h := range batch {
		hidings[i] = hiding{h.delivery.letter.receipt, h.seconds}
	}
	ctx, cancel := context.WithTimeout(context.Background(), ackTimeout)
	defer cancel()
	for i, err := range s.client.hide(ctx, s.source.url, hidings) {
		s.giveBackGroup(batch[i].delivery)
		s.finish(batch[i].delivery, batch[i].done, s.told(err))
	}
}

// giveBackGroup gives back what waits behind a message of a FIFO queue that
// comes again: it must not overtake it, and while it is in hand SQS shows
// nothing of the group.
func (s *session) giveBackGroup(d *delivery) {
	group := s.groupOf(d)
	if group == "" {
		return
	}
	s.mu.Lock()
	list := s.takeUnread(func(o *delivery) bool { return s.groupOf(o) == group })
	s.mu.Unlock()
	s.giveBack(list)
}

// told ends the session when SQS did not answer what became of a delivery, or
// refused it: the message may come again. Where the request was on its way it
// is forgiven, since the fate is durable and SQS was told; to call such a
// message released would be wrong whenever SQS did hear.
func (s *session) told(err error) error {
	if err == nil {
		return nil
	}
	onItsWay := errors.Is(err, broker.ErrUnreachable) && codeOf(err) == "" && !neverSent(err)
	err = fmt.Errorf("awssqs: a settled message may come again: %w: %w", broker.ErrUnknown, err)
	s.end(err)
	if onItsWay {
		return nil
	}
	return err
}

// reopen takes back a settlement that was not carried out.
func (s *session) reopen(d *delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.state = stateOpen
	s.handed--
	if s.err != nil { // the end of the session did not take it along
		s.forget(d, stateSettled)
	}
	s.wake()
}

// finish ends a settlement that was carried out, or whose outcome nobody knows.
func (s *session) finish(d *delivery, done func(error), err error) {
	s.mu.Lock()
	s.handed--
	s.forget(d, stateSettled)
	s.mu.Unlock()
	done(err)
}
