package awssqs

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
)

// snsLargest is what a topic takes.
const snsLargest = 256 << 10

// notification is what SNS delivers to a queue whose subscription does not ask
// for raw messages.
type notification struct {
	Type              string
	MessageId         string //nolint:revive // as SNS writes it
	TopicArn          string
	Message           string
	Timestamp         string
	MessageAttributes map[string]attribute `json:",omitempty"`
}

type attribute struct{ Type, Value string }

// enveloped is the body that a message has after it was published to a topic.
// What a producer's attributes look like is learned by sending the message to a
// queue of nobody's first.
func (s *service) enveloped(t *testing.T, m *broker.Message) []byte {
	t.Helper()
	s.boxes.Lock()
	defer s.boxes.Unlock()
	raw := s.sentAs(t, m)
	n := notification{
		Type: "Notification", MessageId: fmt.Sprintf("sns-%d", s.names.Add(1)), TopicArn: "arn:aws:sns:eu-west-1:000000000000:orders",
		Message: aws.ToString(raw.Body), Timestamp: "2026-11-30T12:00:00.000Z", MessageAttributes: map[string]attribute{},
	}
	for name, v := range raw.MessageAttributes {
		a := attribute{aws.ToString(v.DataType), aws.ToString(v.StringValue)}
		if v.BinaryValue != nil {
			a.Value = base64.StdEncoding.EncodeToString(v.BinaryValue)
		}
		n.MessageAttributes[name] = a
	}
	body, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// sentAs sends a message to the box and takes it out again.
func (s *service) sentAs(t *testing.T, m *broker.Message) (raw types.Message) {
	t.Helper()
	if s.box == "" {
		s.box = fmt.Sprintf("box%d", s.names.Add(1))
		s.do(t, "make "+s.box, func(ctx context.Context, c *sqs.Client) error {
			_, err := c.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &s.box})
			return err
		})
	}
	url, err := s.urlOf(t, s.box)
	if err != nil {
		t.Fatal(err)
	}
	s.do(t, "post", func(ctx context.Context, c *sqs.Client) error {
		if err := s.sender.Publish(ctx, broker.Target{Queue: s.box}, m); err != nil {
			return err
		}
		out, err := c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &url, WaitTimeSeconds: 5, MessageAttributeNames: []string{"All"},
		})
		if err != nil || len(out.Messages) != 1 {
			return fmt.Errorf("%d messages: %w", len(out.Messages), err)
		}
		raw = out.Messages[0]
		_, err = c.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: raw.ReceiptHandle})
		return err
	})
	return raw
}
