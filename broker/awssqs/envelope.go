package awssqs

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// envelope is how SNS delivers to a queue unless the subscription asks for raw
// messages.
type envelope struct {
	Type              string
	MessageID         string `json:"MessageId"`
	TopicArn          string
	Message           *string
	MessageAttributes map[string]struct{ Type, Value string }
}

// openEnvelope reads the envelope of SNS, and returns nil for any other body.
// What SNS always writes must be there: a message of somebody's own may have a
// "Type", too.
func openEnvelope(body string) *envelope {
	if !strings.HasPrefix(strings.TrimLeft(body, " \t\r\n"), "{") || !strings.Contains(body, `"TopicArn"`) {
		return nil // without a parse, on the way of every message
	}
	var e envelope
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return nil
	}
	if e.Type != "Notification" || e.Message == nil || e.MessageID == "" || !strings.HasPrefix(e.TopicArn, "arn:") {
		return nil
	}
	return &e
}

// attributes are those that were published to the topic.
func (e *envelope) attributes() map[string]types.MessageAttributeValue {
	out := make(map[string]types.MessageAttributeValue, len(e.MessageAttributes))
	for name, a := range e.MessageAttributes {
		v := types.MessageAttributeValue{DataType: aws.String(a.Type), StringValue: aws.String(a.Value)}
		if raw, err := base64.StdEncoding.DecodeString(a.Value); strings.HasPrefix(a.Type, typeBinary) && err == nil {
			v.BinaryValue, v.StringValue = raw, nil
		}
		out[name] = v
	}
	return out
}
