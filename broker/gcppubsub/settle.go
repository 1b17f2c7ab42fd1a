package gcppubsub

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/holdfast-mq/holdfast/broker"
)

// maxDelay is the longest that Pub/Sub waits for an acknowledgement.
const maxDelay = 600 * time.Second

// task is what a settlement takes before the delivery is acknowledged: a copy,
// or in place of both a time after which the delivery comes again.
type task struct {
	topic string
	copy  *pubsubpb.PubsubMessage
	due   time.Time // of a copy that waits
	reply bool      // the copy is one

	again bool
	delay time.Duration
}

// Settle implements [broker.Delivery].
func (d *delivery) Settle(set broker.Settlement, done func(error)) {
	s := d.session
	if err := s.hand(d); err != nil {
		done(err)
		return
	}
	t, err := d.taskFor(set)
	switch {
	case err != nil:
		s.reopen(d)
		done(err)
	case t.again:
		s.work(func() { s.comeAgain(d, t.delay, done) })
	case t.copy != nil:
		s.work(func() { s.store(d, t, done) })
	default:
		s.acks[d.flow].add(d, done)
	}
}

// work carries out a settlement's call in the background. It waits while as
// many are under way as may be.
func (s *session) work(call func()) {
	s.workers <- struct{}{}
	s.closed.Go(func() {
		defer func() { <-s.workers }()
		call()
	})
}

// hand lets one settlement of a delivery begin. The session does not close
// before it has ended.
func (s *session) hand(d *delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return fmt.Errorf("gcppubsub: settle: %w", broker.ErrClosed)
	case d.state == stateLapsed:
		return fmt.Errorf("gcppubsub: settle: the lease of the delivery is over, and the message comes again: %w", broker.ErrClosed)
	case d.state != stateOpen:
		return fmt.Errorf("gcppubsub: settle: %w", broker.ErrSettled)
	}
	d.state = stateHanded
	s.handed++
	s.closed.Add(1)
	return nil
}

// reopen takes back a settlement that was not carried out.
func (s *session) reopen(d *delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.state = stateOpen
	s.handed--
	if s.err != nil { // the end of the session did not take it along
		s.forget(d)
	}
	s.wake()
	s.closed.Done()
}

// finish ends a settlement that was carried out, or whose outcome nobody knows.
func (s *session) finish(d *delivery, done func(error), err error) {
	s.mu.Lock()
	s.handed--
	s.forget(d)
	s.mu.Unlock()
	done(err)
	s.closed.Done()
}

// taskFor says what a settlement takes.
func (d *delivery) taskFor(set broker.Settlement) (task, error) {
	s := d.session
	switch set.Fate {
	case broker.FateDone:
		return d.replying(set.Reply)
	case broker.FateDiscard:
		return task{}, nil
	case broker.FateDelay:
		return d.delaying(set)
	case broker.FateHold:
		return d.waiting(set, holdSuffix, s.sub.Hold)
	case broker.FatePark:
		return d.copying(set, parkedSuffix)
	case broker.FateRelease:
		if set.Capture == nil {
			return task{again: true}, nil
		}
		return d.copying(set, backSuffix)
	default:
		return task{}, unsupported("fate %d", set.Fate)
	}
}

// delaying is a retry. Where Pub/Sub counts, the message itself comes again
// and no copy is made; a handler may have asked for longer than the rung.
func (d *delivery) delaying(set broker.Settlement) (task, error) {
	s := d.session
	if !slices.Contains(s.sub.Rungs, set.Delay) {
		return task{}, unsupported("a delay of %v, which is not one of the subscription's rungs", set.Delay)
	}
	if !s.source.counted() {
		return d.waiting(set, retrySuffix, set.Delay)
	}
	delay := set.Delay
	if set.Capture != nil {
		delay = max(delay, time.Until(set.Capture.NotBefore))
	}
	return task{again: true, delay: s.clamped(delay)}, nil
}

// clamped bounds a delay by what Pub/Sub can give.
func (s *session) clamped(delay time.Duration) time.Duration {
	if delay <= maxDelay {
		return delay
	}
	s.clampedOnce.Do(func() {
		s.notify(broker.NoticeWarning, fmt.Sprintf("a delay of %v is cut to %v, the longest ack deadline of Pub/Sub: use shorter rungs, or a hold", delay, maxDelay))
	})
	return maxDelay
}

func (d *delivery) copying(set broker.Settlement, suffix string) (task, error) {
	s := d.session
	m, err := captured(d.raw, set.Capture)
	return task{topic: s.names().place(s.source.source, suffix).topic(), copy: m}, err
}

func (d *delivery) waiting(set broker.Settlement, suffix string, wait time.Duration) (task, error) {
	t, err := d.copying(set, suffix)
	if err == nil {
		t.due = time.Now().Add(wait)
		t.copy.Attributes[attrDue] = strconv.FormatInt(t.due.UnixMilli(), 10)
	}
	return t, err
}

func (d *delivery) replying(r *broker.Reply) (task, error) {
	if r == nil {
		return task{}, nil
	}
	m := d.message
	return task{topic: d.session.names().topic(m.ReplyTo), copy: replyTo(&m, r), reply: true}, nil
}

// replyTo is a responder's answer as a message.
func replyTo(request *broker.Message, r *broker.Reply) *pubsubpb.PubsubMessage {
	return messageOf(&broker.Message{
		Body: r.Body, Headers: r.Headers, ContentType: r.ContentType, Type: r.Type, CorrelationID: request.CorrelationID,
	})
}

// store publishes the copy and acknowledges the original once the broker has
// it.
func (s *session) store(d *delivery, t task, done func(error)) {
	err := s.conn.publish(s.over, t.topic, t.copy)
	if t.reply && isAny(err, broker.ErrUnrouted, broker.ErrMissing) {
		s.notify(broker.NoticeReplyUnrouted, d.message.ReplyTo)
		err = nil
	}
	switch {
	case err == nil:
		s.expect(t)
		s.acks[d.flow].add(d, done)
	case isAny(err, broker.ErrUnknown):
		s.end(err)
		s.finish(d, done, err)
	default:
		s.reopen(d)
		done(err)
	}
}

// comeAgain lets the broker hand the message out again, at once or after a
// while. Pub/Sub counts in whole seconds, and counts the delivery.
func (s *session) comeAgain(d *delivery, delay time.Duration, done func(error)) {
	seconds := int32((delay + time.Second - 1) / time.Second)
	s.mu.Lock()
	d.leaving = true
	behind := s.followers(d.key())
	s.mu.Unlock()
	s.extending.Lock()   // an extension that is under way would make the delay its own
	s.extending.Unlock() //nolint:staticcheck // nothing is to be done meanwhile but wait
	// Not the session's context: like an acknowledgement it is not raced
	// against a stop.
	failed := s.conn.lease(context.Background(), d.subscription(), []string{d.ackID}, seconds)
	for _, f := range behind {
		s.conn.lease(context.Background(), f.subscription(), []string{f.ackID}, 0)
	}
	if err := failed[d.ackID]; err != nil {
		s.finish(d, done, s.ackFailed(err))
		return
	}
	s.mu.Lock()
	if d.streamed && seconds > 0 {
		s.asleep++
	}
	s.mu.Unlock()
	s.finish(d, done, nil)
}
