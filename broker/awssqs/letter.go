package awssqs

import (
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
)

// The attributes that SQS keeps of a message. All of them are asked for with
// each receive, which costs no call.
const (
	sysReceives = string(types.MessageSystemAttributeNameApproximateReceiveCount)
	sysSent     = string(types.MessageSystemAttributeNameSentTimestamp)
	sysGroup    = string(types.MessageSystemAttributeNameMessageGroupId)
	sysSequence = string(types.MessageSystemAttributeNameSequenceNumber)
	sysTrace    = string(types.MessageSystemAttributeNameAWSTraceHeader)
	sysDeadFrom = string(types.MessageSystemAttributeNameDeadLetterQueueSourceArn)
)

// letter is a message as it was received: what copies are made from.
type letter struct {
	id         string // SQS's, another one for each copy
	receipt    string
	body       string // as it came, an envelope included
	attributes attributes
	packed     *packed // never nil
	packedErr  error
	sns        *envelope // or nil
	group      string
	trace      string
	sent       time.Time // by the clock of SQS
	sequence   string    // of a FIFO queue: a number of twenty digits
	receives   int       // as the broker counts, 1 or more where it counts
	deadFrom   string    // the ARN of the queue that SQS moved it from
}

// open reads a received message. The stamp is read here, also inside of an
// envelope, before any count is made of the counter.
func open(raw types.Message, keepEnvelopes bool) *letter {
	system := raw.Attributes
	l := &letter{
		id: aws.ToString(raw.MessageId), receipt: aws.ToString(raw.ReceiptHandle), body: aws.ToString(raw.Body),
		attributes: make(attributes, len(raw.MessageAttributes)), packed: &packed{},
		group: system[sysGroup], trace: system[sysTrace], deadFrom: system[sysDeadFrom], sequence: system[sysSequence],
	}
	l.receives = broker.Deliveries(number(system[sysReceives]))
	if ms := number(system[sysSent]); ms > 0 {
		l.sent = time.UnixMilli(ms)
	}
	for name, v := range raw.MessageAttributes {
		if name != packedName {
			l.attributes[name] = v
		}
	}
	stamp, stamped := raw.MessageAttributes[packedName]
	if !keepEnvelopes {
		l.sns = openEnvelope(l.body)
	}
	if l.sns != nil && !stamped {
		stamp, stamped = l.sns.attributes()[packedName]
	}
	if stamped {
		l.unpack(aws.ToString(stamp.StringValue))
	}
	return l
}

func number(s string) int64 {
	if s == "" { // what is not there shall not cost an error
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (l *letter) unpack(text string) {
	p, err := parsePacked(text)
	if err != nil {
		l.packedErr = err
		return
	}
	l.packed = p
	if len(p.Folded) > 0 {
		for name, v := range p.unfold() {
			l.attributes[name] = v
		}
	}
}

// view is the message as its reader sees it: of an envelope, what is in it.
func (l *letter) view() broker.Message {
	body, a := l.body, l.attributes
	if l.sns != nil {
		body, a = *l.sns.Message, l.sns.attributes()
		delete(a, packedName)
		for name, v := range l.attributes {
			a[name] = v
		}
	}
	m := view(body, a, l.packed)
	if id := l.firstID(); id != "" {
		if m.Headers == nil {
			m.Headers = make(map[string]any, 1)
		}
		m.Headers[HeaderMessageID] = id
	}
	return m
}

// firstID is what the broker called the message when it was published: a copy
// has another id of SQS, and so has what SNS delivers.
func (l *letter) firstID() string {
	switch {
	case l.packed.ID != "":
		return l.packed.ID
	case l.sns != nil:
		return l.sns.MessageID
	}
	return l.id
}

// capture reads the capture that the message carries, if it was made for
// queue.
func (l *letter) capture(queue string) (*broker.Capture, error) {
	if l.packedErr != nil {
		return nil, l.packedErr
	}
	return broker.ReadCapture(func(name string) (any, bool) {
		v, ok := l.packed.Fields[name]
		return v, ok
	}, queue)
}

// origin is where the message was first published, as far as it says.
func (l *letter) origin(c *broker.Capture, queue string) broker.Origin {
	if c != nil {
		return c.Origin
	}
	o := broker.Origin{Exchange: l.packed.Exchange, Key: l.packed.Key, Queue: queue}
	if o.Exchange == "" && l.sns != nil {
		o.Exchange = l.sns.TopicArn
	}
	if o.Key == "" {
		o.Key = l.ownGroup()
	}
	if l.deadFrom != "" {
		o.Queue = l.deadFrom[strings.LastIndexByte(l.deadFrom, ':')+1:]
	}
	return o
}

// ownGroup is the message group that the original had.
func (l *letter) ownGroup() string {
	if l.packed.Group != "" {
		return l.packed.Group
	}
	return l.group
}
