package rabbitmq

import (
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// letter is a message as it was read, with the properties that only AMQP has.
// It is what copies are made from, and it is never changed.
type letter struct {
	msg broker.Message

	priority   uint8
	expiration string
	userID     string

	// exchange and key are those of this delivery; the origin may differ.
	exchange string
	key      string

	capture    *broker.Capture
	captureErr error
}

// read fills l from d. The table is the delivery's own, so that our number
// can be taken out of it in place.
func (l *letter) read(d *amqp.Delivery, queue string) {
	delete(d.Headers, headerSeq)
	l.msg = broker.Message{
		Body: d.Body, Headers: d.Headers, ID: d.MessageId, CorrelationID: d.CorrelationId, ReplyTo: d.ReplyTo,
		ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, Type: d.Type, AppID: d.AppId,
		Timestamp: d.Timestamp, Redelivered: d.Redelivered, Attempt: 1,
		Origin: broker.Origin{Exchange: d.Exchange, Key: d.RoutingKey, Queue: queue},
	}
	l.priority, l.expiration, l.userID = d.Priority, d.Expiration, d.UserId
	l.exchange, l.key = d.Exchange, d.RoutingKey
}

// readCapture applies the capture that the message carries, if it was made
// for queue; an empty queue accepts any.
func (l *letter) readCapture(queue string) {
	if _, any := l.msg.Headers[broker.HeaderVersion]; !any {
		return
	}
	l.capture, l.captureErr = broker.ReadCapture(func(name string) (any, bool) {
		v, ok := l.msg.Headers[name]
		return v, ok
	}, queue)
	if c := l.capture; c != nil {
		l.msg.Origin, l.msg.Attempt, l.msg.Lap = c.Origin, c.Attempt, c.Lap
	}
}

// hopSize is what the headers take that a copy must carry.
func (l *letter) hopSize() int {
	size := 4
	for name, v := range l.msg.Headers {
		if carried(name) {
			size += entrySize(name, v)
		}
	}
	return size
}

// captured is a copy that carries c, and what its headers take: at most limit
// bytes. false says that they cannot. A copy that rests gives up headers of its
// own before it gives up the texts, which say why it is there.
func (l *letter) captured(c *broker.Capture, limit int, user string) (m amqp.Publishing, size int, fits bool) {
	table, room := pick(l.msg.Headers, carried), limit-seqRoom
	m = l.publishing(table, user)
	size = setCapture(table, c)
	if texts := textsSize(c); limit >= restLimit && size+texts > room {
		squeeze(table, room-texts)
		size = tableSize(table)
	}
	if size > room {
		return m, size, false
	}
	size += setText(table, broker.HeaderError, c.Error, room-size)
	size += setText(table, broker.HeaderCause, c.Cause, room-size)
	return m, size + seqRoom, true
}

// seqRoom is what the publisher's number takes.
var seqRoom = entrySize(headerSeq, int64(0))

// publishing is a copy with these headers: persistent, and without an
// expiration, which would cut short the wait on a rung or remove a parked
// message. It is recorded instead.
func (l *letter) publishing(table amqp.Table, user string) amqp.Publishing {
	m := amqp.Publishing{
		Headers: table, Body: l.msg.Body, MessageId: l.msg.ID, CorrelationId: l.msg.CorrelationID,
		ReplyTo: l.msg.ReplyTo, ContentType: l.msg.ContentType, ContentEncoding: l.msg.ContentEncoding,
		Type: l.msg.Type, AppId: l.msg.AppID, Timestamp: l.msg.Timestamp,
		Priority: l.priority, DeliveryMode: amqp.Persistent,
	}
	if l.expiration != "" {
		table[broker.HeaderExpiration] = l.expiration
	}
	switch l.userID {
	case "":
	case user:
		m.UserId = user
	default:
		table[headerUserID] = l.userID
	}
	return m
}
