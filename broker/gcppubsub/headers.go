package gcppubsub

import (
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/holdfast-mq/holdfast/broker"
)

// Pub/Sub has no properties but an ordering key: the others are attributes of
// these names.
const (
	attrMessageID       = "Message-Id"
	attrCorrelationID   = "Correlation-Id"
	attrReplyTo         = "Reply-To"
	attrContentType     = "Content-Type"
	attrContentEncoding = "Content-Encoding"
	attrType            = "Type"
	attrAppID           = "App-Id"
	attrTimestamp       = "Timestamp"
)

// The attributes of ours on copies. They are hidden from everyone who reads a
// message.
const (
	ownPrefix = "holdfast-"
	attrTopic = ownPrefix + "topic" // the route that a copy without a capture shows
	attrKey   = ownPrefix + "key"
	attrDue   = ownPrefix + "due" // when a copy goes back, in Unix milliseconds
)

// What Pub/Sub and its clients add to a message that is handed out. None of it
// is published again: an old count would be taken for a new one.
const (
	clientPrefix     = "googclient_"
	deadLetterPrefix = "CloudPubSubDeadLetterSource"
	deadLetterFrom   = deadLetterPrefix + "Subscription"
)

var properties = map[string]bool{
	attrMessageID: true, attrCorrelationID: true, attrReplyTo: true, attrContentType: true,
	attrContentEncoding: true, attrType: true, attrAppID: true, attrTimestamp: true,
}

// transient reports whether an attribute tells something of one delivery only.
func transient(name string) bool {
	return strings.HasPrefix(name, clientPrefix) || strings.HasPrefix(name, deadLetterPrefix) || strings.HasPrefix(name, ownPrefix)
}

// read turns a stored message into the core's view of it.
func read(p *pubsubpb.PubsubMessage) broker.Message {
	a := p.GetAttributes()
	m := broker.Message{
		Body: p.GetData(), ID: a[attrMessageID], CorrelationID: a[attrCorrelationID], ReplyTo: a[attrReplyTo],
		ContentType: a[attrContentType], ContentEncoding: a[attrContentEncoding], Type: a[attrType], AppID: a[attrAppID], Attempt: 1,
	}
	if at, err := time.Parse(time.RFC3339Nano, a[attrTimestamp]); err == nil {
		m.Timestamp = at
	}
	for name, v := range a {
		if properties[name] || strings.HasPrefix(name, ownPrefix) {
			continue
		}
		if m.Headers == nil {
			m.Headers = make(map[string]any, len(a))
		}
		m.Headers[name] = v
	}
	return m
}

// origin is where the message was first published. What came back was
// published by us, and says where it came from.
func origin(p *pubsubpb.PubsubMessage, c *broker.Capture, topic, queue string) broker.Origin {
	if c != nil {
		return c.Origin
	}
	a := p.GetAttributes()
	if from, ours := a[attrTopic]; ours {
		return broker.Origin{Exchange: from, Key: a[attrKey], Queue: queue}
	}
	return broker.Origin{Exchange: topic, Key: p.GetOrderingKey(), Queue: queue}
}

// carried copies the attributes that want wants, and never what told of one
// delivery only.
func carried(a map[string]string, want func(name string) bool) map[string]string {
	out := make(map[string]string, len(a)+maxChunks)
	for name, v := range a {
		if !transient(name) && want(name) {
			out[name] = v
		}
	}
	return out
}

// replacing leaves room for a new capture; keeping keeps the one that is
// there; fresh leaves all that failure added behind.
func replacing(name string) bool { return !broker.CaptureField(name) && !packed(name) }
func keeping(string) bool        { return true }
func fresh(name string) bool     { return !broker.FailureField(name) }

// copyOf is a message to publish: body and ordering key of p, and attributes.
func copyOf(p *pubsubpb.PubsubMessage, attributes map[string]string) *pubsubpb.PubsubMessage {
	return &pubsubpb.PubsubMessage{Data: p.GetData(), OrderingKey: p.GetOrderingKey(), Attributes: attributes}
}

// route is where a copy without a capture says that it came from.
func route(a map[string]string, topic, key string) { a[attrTopic], a[attrKey] = topic, key }
