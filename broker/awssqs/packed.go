package awssqs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
)

// packedName is the one attribute that everything of ours travels in: a message
// has room for ten.
const packedName = broker.HeaderPrefix + "capture"

// packed is what that attribute holds, as JSON.
type packed struct {
	// Fields are those of the capture, and an operator's stamps.
	Fields map[string]any `json:"fields,omitempty"`

	// ID is what SQS or SNS called the message that this is a copy of, and Group
	// its message group, where the copy has another.
	ID    string `json:"id,omitempty"`
	Group string `json:"group,omitempty"`

	// Exchange and Key are the route of a copy that has no capture to say it.
	Exchange string `json:"exchange,omitempty"`
	Key      string `json:"key,omitempty"`

	// Folded are the message's own attributes, where they left no room for
	// this one.
	Folded map[string]folded `json:"folded,omitempty"`
}

// folded is an attribute inside of another.
type folded struct {
	Type   string `json:"type"`
	Text   string `json:"text,omitempty"`
	Binary []byte `json:"binary,omitempty"`
}

func (p *packed) empty() bool {
	return len(p.Fields) == 0 && p.ID == "" && p.Group == "" && p.Exchange == "" && p.Key == "" && len(p.Folded) == 0
}

// parsePacked reads the attribute. Numbers become int64 where they are whole,
// so that a capture tells a number from a text.
func parsePacked(text string) (*packed, error) {
	var p packed
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("awssqs: attribute %s cannot be read: %w", packedName, err)
	}
	for name, v := range p.Fields {
		number, ok := v.(json.Number)
		if !ok {
			continue
		}
		if n, err := number.Int64(); err == nil {
			p.Fields[name] = n
		} else {
			p.Fields[name] = number.String()
		}
	}
	return &p, nil
}

// attribute writes p. Texts keep their characters but for the two that SQS
// does not take, which are escaped.
func (p *packed) attribute() (types.MessageAttributeValue, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(p); err != nil {
		return types.MessageAttributeValue{}, fmt.Errorf("awssqs: attribute %s: %w: %w", packedName, broker.ErrRefused, err)
	}
	text := strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`).Replace(strings.TrimSuffix(b.String(), "\n"))
	return textAttribute(text), nil
}

func textAttribute(text string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String(typeText), StringValue: aws.String(text)}
}

// stamps are the fields that are no part of a capture: a new capture replaces
// an old one whole and leaves these.
func (p *packed) stamps() map[string]any {
	out := map[string]any{}
	for name, v := range p.Fields {
		if !broker.CaptureField(name) {
			out[name] = v
		}
	}
	return out
}

func fold(attributes map[string]types.MessageAttributeValue) map[string]folded {
	out := make(map[string]folded, len(attributes))
	for name, v := range attributes {
		out[name] = folded{Type: aws.ToString(v.DataType), Text: aws.ToString(v.StringValue), Binary: v.BinaryValue}
	}
	return out
}

func (p *packed) unfold() map[string]types.MessageAttributeValue {
	out := make(map[string]types.MessageAttributeValue, len(p.Folded))
	for name, f := range p.Folded {
		v := types.MessageAttributeValue{DataType: aws.String(f.Type), BinaryValue: slices.Clone(f.Binary)}
		if !strings.HasPrefix(f.Type, typeBinary) {
			v.StringValue = aws.String(f.Text)
		}
		out[name] = v
	}
	return out
}
