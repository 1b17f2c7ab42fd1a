package awssqs

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// motoVariable names the program moto_server.
const motoVariable = "HOLDFAST_MOTO"

// moto starts a server that has SNS and SQS, and returns its URL.
func moto(t *testing.T) string {
	t.Helper()
	program := os.Getenv(motoVariable)
	if program == "" {
		testenv.Skip(t, "moto", motoVariable+" names no moto_server")
	}
	port := freePort(t)
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	start(t, url+"/moto-api/", program, "-H", "127.0.0.1", "-p", strconv.Itoa(port))
	return url
}

// topic makes a topic that delivers to queue in envelopes, and returns what
// publishes to it.
func topic(t *testing.T, s *service, queue string) (arn string, publish func(body string, attributes map[string]types.MessageAttributeValue)) {
	t.Helper()
	c := sns.New(sns.Options{Region: "eu-west-1", BaseEndpoint: &s.url, Credentials: keys()})
	made, err := c.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("topic-" + queue)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Subscribe(t.Context(), &sns.SubscribeInput{
		TopicArn: made.TopicArn, Protocol: aws.String("sqs"), Endpoint: aws.String(s.arn(t, queue)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(made.TopicArn), func(body string, attributes map[string]types.MessageAttributeValue) {
		_, err := c.Publish(t.Context(), &sns.PublishInput{TopicArn: made.TopicArn, Message: &body, MessageAttributes: attributes})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (s *service) arn(t *testing.T, queue string) (arn string) {
	t.Helper()
	url, err := s.urlOf(t, queue)
	if err != nil {
		t.Fatal(err)
	}
	s.do(t, "look at "+queue, func(ctx context.Context, c *sqs.Client) error {
		out, err := c.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
		})
		if err == nil {
			arn = out.Attributes[string(sqstypes.QueueAttributeNameQueueArn)]
		}
		return err
	})
	return arn
}

// TestWhatSNSDeliversIsRetriedParkedAndReplayed follows one message in its
// envelope.
func TestWhatSNSDeliversIsRetriedParkedAndReplayed(t *testing.T) {
	t.Parallel()
	s := newService(t, moto(t), false)
	queue := s.newQueue(t)
	from, publish := topic(t, s, queue)
	publish(`{"order":7}`, map[string]types.MessageAttributeValue{
		"tenant": {DataType: aws.String("String"), StringValue: aws.String("acme")},
	})
	b := openWith(t, s.url, nil)
	session := attach(t, b, broker.Subscription{Queue: queue, Rungs: []time.Duration{rung}, Hold: time.Second})
	consume(t, session, 1)
	first := receive(t, session)
	id := first.Message().Headers["x-sqs-message-id"]
	follow := func(d broker.Delivery, attempt, lap int) {
		t.Helper()
		wants(t, d, `{"order":7}`, attempt)
		m := d.Message()
		if m.Lap != lap || m.Headers["tenant"] != "acme" || m.Headers["x-sqs-message-id"] != id || m.Origin.Exchange != from {
			t.Errorf("lap %d, origin %+v, headers %v", m.Lap, m.Origin, m.Headers)
		}
	}
	follow(first, 1, 0)
	settle(t, first, broker.Settlement{Fate: broker.FateDelay, Delay: rung, Capture: failed(queue)})
	second := receive(t, session)
	follow(second, 2, 0)
	c := failed(queue)
	c.Attempt, c.Lap, c.Origin = 2, 1, second.Message().Origin
	settle(t, second, broker.Settlement{Fate: broker.FateHold, Capture: c})
	third := receive(t, session)
	follow(third, 2, 1)
	settle(t, third, broker.Settlement{Fate: broker.FatePark, Capture: c})
	sifted, err := b.(broker.Sifter).Sift(t.Context(), beside(parkedSuffix)(queue), broker.SiftOptions{},
		func(_ context.Context, m *broker.Stored) (broker.Action, error) {
			if string(m.Message.Body) != `{"order":7}` || m.Capture == nil {
				t.Errorf("parked %s, %v", m.Message.Body, m.CaptureErr)
			}
			return broker.Action{Verb: broker.VerbCopy, Target: broker.Target{Queue: queue}, Fresh: true}, nil
		})
	if err != nil || sifted.Copied != 1 {
		t.Fatalf("the replay: %+v, %v", sifted, err)
	}
	fresh := receive(t, session)
	follow(fresh, 1, 0)
	settle(t, fresh, broker.Settlement{Fate: broker.FateDone})
}
