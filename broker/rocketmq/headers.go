package rocketmq

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// RocketMQ's own properties that a message has a field for.
const (
	propertyID            = "UNIQ_KEY" // a producer's client gives it to each message
	propertyTags          = "TAGS"
	propertyCorrelationID = "CORRELATION_ID"
	propertyReplyTo       = "REPLY_TO_CLIENT"
)

// The fields that RocketMQ has no property for have these.
const (
	propertyContentType     = "Content-Type"
	propertyContentEncoding = "Content-Encoding"
	propertyType            = "Type"
	propertyAppID           = "App-Id"
)

const (
	propertyDeliverAt = "TIMER_DELIVER_MS"

	// propertyHeld marks a copy that a hold gives back. It is hidden.
	propertyHeld = "HOLDFAST_HELD"

	// propertyKey is the key that a copy to one queue shows, where its tag is
	// another. It is hidden.
	propertyKey   = "HOLDFAST_KEY"
	propertyTopic = "HOLDFAST_TOPIC"
	ownPrefix     = "HOLDFAST_"
)

var fieldProperties = map[string]bool{
	propertyID: true, propertyCorrelationID: true, propertyReplyTo: true, propertyContentType: true,
	propertyContentEncoding: true, propertyType: true, propertyAppID: true,
}

// transient are the properties by which a broker or a client keeps count of one
// delivery, or is asked to treat a message in a way of its own. A copy that had
// one would be timed, counted or acknowledged as the original was.
var transient = map[string]bool{
	"WAIT": true, "DELAY": true, "RETRY_TOPIC": true, "REAL_TOPIC": true, "REAL_QID": true, "TRAN_MSG": true,
	"MIN_OFFSET": true, "MAX_OFFSET": true, "ORIGIN_MESSAGE_ID": true, "TRANSFER_FLAG": true, "CORRECTION_FLAG": true,
	"MQ2_FLAG": true, "RECONSUME_TIME": true, "MSG_REGION": true, "TRACE_ON": true, "MAX_RECONSUME_TIMES": true,
	"CONSUME_START_TIME": true, "INNER_NUM": true, "INNER_BASE": true, "CHECK_IMMUNITY_TIME_IN_SECONDS": true,
	"TRAN_PREPARED_QUEUE_OFFSET": true, "__transactionId__": true, "TRANSACTION_CHECK_TIMES": true, "CLUSTER": true,
	"POP_CK": true, "POP_CK_OFFSET": true, "1ST_POP_TIME": true, "PROPERTY_FORWARD_QUEUE_ID": true, "REDIRECT": true,
	"INNER_MULTI_DISPATCH": true, "INNER_MULTI_QUEUE_OFFSET": true, "BORN_TIMESTAMP": true, "__BORNHOST": true,
	"__CRC32#": true, "DLQ_ORIGIN_TOPIC": true, "DLQ_ORIGIN_MESSAGE_ID": true,
}

func isTransient(name string) bool {
	return transient[name] || strings.HasPrefix(name, "TIMER_") || strings.HasPrefix(name, "__RMQ.TRANSIENT.")
}

// properties are what a message carries beside its body: text by name.
type properties map[string]string

const (
	betweenNameAndValue = "\x01"
	afterProperty       = "\x02"
)

func readProperties(s string) properties {
	p := properties{}
	for pair := range strings.SplitSeq(s, afterProperty) {
		if name, value, ok := strings.Cut(pair, betweenNameAndValue); ok {
			p[name] = value
		}
	}
	return p
}

// text is the form in which a broker reads them.
func (p properties) text() string {
	var b strings.Builder
	b.Grow(p.size())
	for name, value := range p {
		b.WriteString(name + betweenNameAndValue + value + afterProperty)
	}
	return b.String()
}

func (p properties) size() int {
	n := 0
	for name, value := range p {
		n += len(name) + len(value) + 2
	}
	return n
}

// set writes a value. The two bytes that end names and values cannot be in
// one.
func (p properties) set(name string, v any) {
	text := ""
	switch v := v.(type) {
	case string:
		text = v
	case int64:
		text = strconv.FormatInt(v, 10)
	default:
		text = fmt.Sprint(v)
	}
	p[name] = separators.Replace(strings.ToValidUTF8(text, "\ufffd"))
}

var separators = strings.NewReplacer(betweenNameAndValue, "\ufffd", afterProperty, "\ufffd")

// carried copies the properties that want wants, and none that belonged to one
// delivery.
func (p properties) carried(want func(name string) bool) properties {
	out := make(properties, len(p)+20)
	for name, value := range p {
		if !isTransient(name) && !strings.HasPrefix(name, ownPrefix) && want(name) {
			out[name] = value
		}
	}
	return out
}

// replacing leaves room for a new capture; keeping keeps the one that is
// there; fresh leaves all that failure added behind.
func replacing(name string) bool { return !broker.CaptureField(name) }
func keeping(string) bool        { return true }
func fresh(name string) bool     { return !broker.FailureField(name) }

// capture reads the capture that a message carries, if it was made for queue.
func (p properties) capture(queue string) (*broker.Capture, error) {
	return broker.ReadCapture(func(name string) (any, bool) {
		v, ok := p[name]
		return v, ok
	}, queue)
}

// message turns a stored message into the core's view of it.
func (m *record) message() broker.Message {
	body, encoding := m.unpacked()
	p := m.properties
	out := broker.Message{
		Body: body, ID: p[propertyID], CorrelationID: p[propertyCorrelationID], ReplyTo: p[propertyReplyTo],
		ContentType: p[propertyContentType], ContentEncoding: p[propertyContentEncoding],
		Type: p[propertyType], AppID: p[propertyAppID], Attempt: 1,
	}
	if encoding != "" {
		out.ContentEncoding = encoding
	}
	if m.born > 0 {
		out.Timestamp = time.UnixMilli(m.born).UTC()
	}
	for name, value := range p {
		if !fieldProperties[name] && !isTransient(name) && !strings.HasPrefix(name, ownPrefix) {
			if out.Headers == nil {
				out.Headers = make(map[string]any, len(p))
			}
			out.Headers[name] = value
		}
	}
	return out
}

// origin is where the message was first published. A copy to one queue says
// what it copies.
func (m *record) origin(c *broker.Capture, s source) broker.Origin {
	if c != nil {
		return c.Origin
	}
	o := broker.Origin{Exchange: m.topic, Key: m.properties[propertyTags], Queue: s.String()}
	if s.topic != "" {
		o.Exchange = s.topic
	}
	o.Exchange = cmp.Or(m.properties[propertyTopic], o.Exchange)
	o.Key = cmp.Or(m.properties[propertyKey], o.Key)
	return o
}

// propertiesOf writes a message's fields as properties.
func propertiesOf(m *broker.Message) properties {
	p := make(properties, len(m.Headers)+8)
	for name, v := range m.Headers {
		p.set(name, v)
	}
	for name, v := range map[string]string{
		propertyID: m.ID, propertyCorrelationID: m.CorrelationID, propertyReplyTo: m.ReplyTo, propertyContentType: m.ContentType,
		propertyContentEncoding: m.ContentEncoding, propertyType: m.Type, propertyAppID: m.AppID,
	} {
		if v != "" {
			p.set(name, v)
		}
	}
	return p
}

// deadTopic is the topic that a dead-lettered message was in.
func (m *record) deadTopic() string {
	if topic := m.properties["DLQ_ORIGIN_TOPIC"]; topic != "" {
		return topic
	}
	return m.properties["RETRY_TOPIC"]
}
