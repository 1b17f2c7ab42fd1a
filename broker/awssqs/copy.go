package awssqs

import (
	"maps"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// maxAttributes is how many attributes a message may have.
	maxAttributes = 10

	// maxMessage is what a message may have in bytes, with the names, types and
	// values of its attributes, and a batch of messages together.
	maxMessage = 1 << 20

	// leanRoom is what a capture without its texts takes at most, with names
	// as long as SQS has them.
	leanRoom = 2 << 10

	// maxText is the most bytes of an error text on a copy.
	maxText = 2 << 10
)

// outgoing is a message to be sent.
type outgoing struct {
	body       string
	attributes attributes
	group      string // empty for none
	dedup      string // of a FIFO queue
	trace      string
}

func (o *outgoing) size() int { return len(o.body) + attributesSize(o.attributes) }

func attributesSize(a attributes) (n int) {
	for name, v := range a {
		n += len(name) + len(aws.ToString(v.DataType)) + len(aws.ToString(v.StringValue)) + len(v.BinaryValue)
	}
	return n
}

// oversize reports whether a message leaves no room for a capture.
func (l *letter) oversize() bool {
	return len(l.body)+attributesSize(l.attributes) > maxMessage-leanRoom
}

// copyWith makes a copy with what p packs. Where ten attributes leave no room
// for it they are folded into it, and unfolded by whoever reads it here.
func (l *letter) copyWith(p *packed, group string) (*outgoing, error) {
	o := &outgoing{body: l.body, attributes: l.attributes, group: group, trace: l.trace}
	if group == "" {
		o.group = l.ownGroup()
	}
	err := o.pack(p)
	return o, err
}

func (o *outgoing) pack(p *packed) error {
	if p.empty() {
		return nil
	}
	a := make(attributes, len(o.attributes)+1)
	if len(o.attributes) < maxAttributes {
		maps.Copy(a, o.attributes)
	} else {
		p.Folded = fold(o.attributes)
	}
	v, err := p.attribute()
	if err != nil {
		return err
	}
	a[packedName] = v
	o.attributes = a
	return nil
}

// captured makes a copy that carries c. The body is never cut for it: the
// texts shrink first, then all goes that the message's way does not depend on.
// It returns false when not even that has room, and the copy is bare.
//
// alone is the copy's own message group; empty for that of the original.
func (l *letter) captured(c *broker.Capture, alone string) (o *outgoing, whole bool, err error) {
	for _, lean := range leaner(c) {
		p := &packed{Fields: l.packed.stamps(), ID: l.firstID()}
		if alone != "" {
			p.Group = l.ownGroup()
		}
		lean.Each(func(name string, v any) { p.Fields[name] = v })
		if o, err = l.copyWith(p, alone); err != nil || o.size() <= maxMessage {
			return o, true, err
		}
	}
	o, err = l.copyWith(&packed{}, alone)
	return o, false, err
}

// leaner lists captures that say less and less of the same failure.
func leaner(c *broker.Capture) []broker.Capture {
	var list []broker.Capture
	for _, most := range []int{maxText, maxText / 4, 0} {
		short := *c
		short.Error, short.Cause = cut(c.Error, most), cut(c.Cause, most)
		list = append(list, short)
	}
	return append(list, broker.Capture{
		ID: c.ID, Attempt: c.Attempt, Lap: c.Lap, Crashes: c.Crashes, Reason: c.Reason, Origin: c.Origin,
		FirstFailedAt: c.FirstFailedAt, NotBefore: c.NotBefore,
	})
}

// cut cuts s to at most n bytes, at the beginning of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func (o *outgoing) systemAttributes() map[string]types.MessageSystemAttributeValue {
	if o.trace == "" {
		return nil
	}
	return map[string]types.MessageSystemAttributeValue{
		string(types.MessageSystemAttributeNameForSendsAWSTraceHeader): {
			DataType: aws.String(typeText), StringValue: aws.String(o.trace),
		},
	}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
