package rabbitmq

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// settle carries out one settlement, and ends in d.settled.
func (s *session) settle(d *delivery, what broker.Settlement, done func(error)) {
	if s.Err() != nil {
		d.settled(broker.ErrClosed, done)
		return
	}
	switch what.Fate {
	case broker.FateDone:
		if what.Reply == nil {
			s.acks.settle(mark{tag: d.tag, told: d, done: done})
			return
		}
		s.reply(d, what.Reply, done)
	case broker.FateDiscard:
		s.acks.settle(mark{tag: d.tag, told: d, done: done})
	case broker.FateRelease:
		if what.Capture == nil {
			s.acks.settle(mark{tag: d.tag, requeue: true, told: d, done: done})
			return
		}
		s.move(d, what.Capture, s.names.back(), s.sub.Queue, hopLimit, done)
	case broker.FateDelay:
		if !slices.Contains(s.sub.Rungs, what.Delay) {
			d.settled(classified(broker.ErrUnsupported, "no rung of %v was declared", what.Delay), done)
			return
		}
		s.move(d, what.Capture, s.names.rung(what.Delay), s.sub.Queue, hopLimit, done)
	case broker.FateHold:
		if !s.capabilities.Hold {
			d.settled(classified(broker.ErrUnsupported, "queue %q is transient or server-named and has no hold: it may be gone when the hold ends", s.sub.Queue), done)
			return
		}
		s.move(d, what.Capture, s.names.exchange(), holdName(s.sub.Queue), hopLimit, done)
	case broker.FatePark:
		s.move(d, what.Capture, s.names.exchange(), s.parked, restLimit, done)
	default:
		d.settled(classified(broker.ErrUnsupported, "no such fate: %d", what.Fate), done)
	}
}

// move publishes a copy that carries c, and then acknowledges the original.
func (s *session) move(d *delivery, c *broker.Capture, exchange, key string, limit int, done func(error)) {
	if c == nil {
		d.settled(classified(broker.ErrUnsupported, "a copy without a capture"), done)
		return
	}
	m, size, fits := d.captured(c, limit, s.conn.at.user)
	if !fits {
		d.settled(classified(broker.ErrUnsupported, "the message's own headers leave no room for the capture: "+
			"they take %d bytes of %d; park it", d.hopSize(), limit), done)
		return
	}
	s.copies.publish(&job{exchange: exchange, key: key, msg: m, size: size + len(m.Body), done: func(err error) {
		if err != nil {
			d.settled(err, done)
			return
		}
		s.acks.settle(mark{tag: d.tag, told: stored{d}, done: done})
	}})
}

// stored is a delivery whose copy is stored: when the original cannot be
// acknowledged any more there will be both.
type stored struct{ *delivery }

func (d stored) settled(err error, done func(error)) {
	if err != nil {
		err = classified(broker.ErrUnknown, "the copy is stored, and the original could not be acknowledged: %s", textOf(err))
	}
	d.delivery.settled(err, done)
}

// reply answers through the default exchange, where every reply queue is
// reachable under its own name.
func (s *session) reply(d *delivery, r *broker.Reply, done func(error)) {
	if !s.sub.Replies {
		d.settled(classified(broker.ErrUnsupported, "the subscription was opened without replies"), done)
		return
	}
	m, err := replyTo(&d.msg, r)
	if err != nil {
		d.settled(err, done)
		return
	}
	s.copies.publish(&job{key: d.msg.ReplyTo, msg: m, done: func(err error) {
		if errors.Is(err, broker.ErrUnrouted) {
			s.notify(broker.Notice{Kind: broker.NoticeReplyUnrouted, Text: d.msg.ReplyTo})
			err = nil
		}
		if err != nil {
			d.settled(err, done)
			return
		}
		s.acks.settle(mark{tag: d.tag, told: stored{d}, done: done})
	}})
}

const replyCheckWait = 2 * time.Second

// checkReplies finds out whether replies may be published, by publishing one
// that nobody can get: there is no other way to ask. While the broker blocks
// publishers there is no answer, and the first reply will tell.
func (s *session) checkReplies(ctx context.Context) error {
	answered := make(chan struct{}, 1)
	s.copies.publish(&job{
		key: s.names.ns + ".reply-check." + rand.Text(), msg: amqp.Publishing{Headers: amqp.Table{}},
		done: func(error) { answered <- struct{}{} }, // a refusal ends the session
	})
	late := time.NewTimer(replyCheckWait)
	defer late.Stop()
	select {
	case <-answered:
		return s.Err()
	case <-late.C:
		return nil
	case <-ctx.Done():
		s.end(ctx.Err())
		return ctx.Err()
	}
}

// replyTo is the answer to m. It does not outlive the queue that it goes to,
// but is persistent all the same: a caller may use a durable one.
func replyTo(m *broker.Message, r *broker.Reply) (amqp.Publishing, error) {
	if m.ReplyTo == "" {
		return amqp.Publishing{}, classified(broker.ErrUnsupported, "the message asks for no reply")
	}
	headers, err := toTable(r.Headers)
	if err != nil {
		return amqp.Publishing{}, classified(broker.ErrUnsupported, "the reply cannot be sent: %v", err)
	}
	if len(r.ContentType) > maxShort || len(r.Type) > maxShort {
		return amqp.Publishing{}, classified(broker.ErrUnsupported,
			"the reply cannot be sent: its content type and its type must have at most %d bytes", maxShort)
	}
	if size := tableSize(headers); size > restLimit {
		return amqp.Publishing{}, classified(broker.ErrUnsupported, "the reply cannot be sent: its headers take %d bytes of %d", size, restLimit)
	}
	return amqp.Publishing{
		Headers: headers, Body: r.Body, CorrelationId: m.CorrelationID, ContentType: r.ContentType, Type: r.Type,
		DeliveryMode: amqp.Persistent,
	}, nil
}
