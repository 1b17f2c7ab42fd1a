package awssqs

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
)

// The types of attributes; a label of the producer's may follow after a dot.
const (
	typeText   = "String"
	typeNumber = "Number"
	typeBinary = "Binary"

	// typeRawText is text with characters that an attribute cannot carry.
	typeRawText = typeBinary + ".text"
)

// SQS has no properties: attributes of these names are taken for them.
const (
	attrMessageID       = "Message-Id"
	attrCorrelationID   = "Correlation-Id"
	attrReplyTo         = "Reply-To"
	attrContentType     = "Content-Type"
	attrContentEncoding = "Content-Encoding"
	attrType            = "Type"
	attrAppID           = "App-Id"
	attrTimestamp       = "Timestamp"

	// attrTransfer says base64 of a body that SQS cannot carry as it is.
	attrTransfer = "Content-Transfer-Encoding"
)

var properties = map[string]bool{
	attrMessageID: true, attrCorrelationID: true, attrReplyTo: true, attrContentType: true, attrContentEncoding: true,
	attrType: true, attrAppID: true, attrTimestamp: true, attrTransfer: true,
}

// HeaderMessageID is a header that every message shows and that no message
// carries: the id that SendMessage, or SNS's Publish, gave its producer. It stays
// the same over redeliveries, retries, holds and replays.
const HeaderMessageID = "x-sqs-message-id"

type attributes = map[string]types.MessageAttributeValue

// text is an attribute's text, and empty where there is none.
func text(a attributes, name string) string {
	s, _ := value(a[name]).(string)
	return s
}

// view is a message as the core sees it.
func view(body string, a attributes, p *packed) broker.Message {
	m := broker.Message{
		Body: decodeBody(body, a), ID: text(a, attrMessageID), CorrelationID: text(a, attrCorrelationID),
		ReplyTo: text(a, attrReplyTo), ContentType: text(a, attrContentType), ContentEncoding: text(a, attrContentEncoding),
		Type: text(a, attrType), AppID: text(a, attrAppID), Attempt: 1,
	}
	if at, err := time.Parse(time.RFC3339Nano, text(a, attrTimestamp)); err == nil {
		m.Timestamp = at
	}
	if len(a)+len(p.Fields) > 0 {
		m.Headers = make(map[string]any, len(a)+len(p.Fields))
	}
	for name, v := range a {
		if !properties[name] {
			m.Headers[name] = value(v)
		}
	}
	maps.Copy(m.Headers, p.Fields)
	return m
}

// value keeps what SQS tells apart: string, json.Number and []byte.
func value(v types.MessageAttributeValue) any {
	switch kind := aws.ToString(v.DataType); {
	case kind == typeRawText:
		return string(v.BinaryValue)
	case strings.HasPrefix(kind, typeBinary):
		return v.BinaryValue
	case strings.HasPrefix(kind, typeNumber):
		return json.Number(aws.ToString(v.StringValue))
	default:
		return aws.ToString(v.StringValue)
	}
}

func attribute(v any) types.MessageAttributeValue {
	number := func(s string) types.MessageAttributeValue {
		return types.MessageAttributeValue{DataType: aws.String(typeNumber), StringValue: aws.String(s)}
	}
	switch v := v.(type) {
	case string:
		return anyText(v)
	case []byte:
		return types.MessageAttributeValue{DataType: aws.String(typeBinary), BinaryValue: v}
	case json.Number:
		return number(v.String())
	case int, int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return number(fmt.Sprint(v))
	case float32:
		return number(strconv.FormatFloat(float64(v), 'g', -1, 32))
	case float64:
		return number(strconv.FormatFloat(v, 'g', -1, 64))
	default:
		return anyText(fmt.Sprint(v))
	}
}

func anyText(s string) types.MessageAttributeValue {
	if carried(s) {
		return textAttribute(s)
	}
	return types.MessageAttributeValue{DataType: aws.String(typeRawText), BinaryValue: []byte(s)}
}

// ownAttributes are the attributes of a message of the caller's own, and the
// fields among its headers that are Holdfast's.
func ownAttributes(m *broker.Message) (attributes, map[string]any) {
	a, fields := attributes{}, map[string]any{}
	for name, v := range m.Headers {
		if strings.HasPrefix(name, broker.HeaderPrefix) {
			fields[name] = v
		} else {
			a[name] = attribute(v)
		}
	}
	for name, v := range map[string]string{
		attrMessageID: m.ID, attrCorrelationID: m.CorrelationID, attrReplyTo: m.ReplyTo, attrContentType: m.ContentType,
		attrContentEncoding: m.ContentEncoding, attrType: m.Type, attrAppID: m.AppID,
	} {
		if v != "" {
			a[name] = anyText(v)
		}
	}
	if !m.Timestamp.IsZero() {
		a[attrTimestamp] = textAttribute(m.Timestamp.UTC().Format(time.RFC3339Nano))
	}
	return a, fields
}

const base64Encoding = "base64"

func decodeBody(body string, a attributes) []byte {
	if text(a, attrTransfer) == base64Encoding {
		if raw, err := base64.StdEncoding.DecodeString(body); err == nil {
			return raw
		}
	}
	return []byte(body)
}

// encodeBody writes a body as SQS carries it. An empty one, which SQS does not
// take either, becomes a line end, which base64 ignores.
func encodeBody(body []byte, a attributes) string {
	if len(body) > 0 && carried(string(body)) {
		return string(body)
	}
	a[attrTransfer] = textAttribute(base64Encoding)
	if len(body) == 0 {
		return "\n"
	}
	return base64.StdEncoding.EncodeToString(body)
}

// carried reports whether s has only the characters that SQS takes: those of
// XML 1.0.
func carried(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff' {
			return false
		}
	}
	return true
}
