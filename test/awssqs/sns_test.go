package awssqs

import (
	"context"
	"fmt"
	"path/filepath"
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

// moto returns a server that has SNS and SQS. Where it is not installed the
// test is recorded as not run.
func moto(t *testing.T) *server {
	t.Helper()
	home, reason := cached("moto", "requirements.txt", `(?m)^moto.*==(.+)$`, "bin/python")
	if reason != "" {
		testenv.Skip(t, "moto", reason)
	}
	s := oneMoto.get(t, func() (*server, error) { return runMoto(home) })
	s.await(t, "/moto-api/")
	return s
}

var oneMoto shared

func runMoto(home string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	// Not bin/moto_server, which names the folder that it was installed into.
	return start("moto", fmt.Sprintf("http://127.0.0.1:%d", port),
		filepath.Join(home, "bin", "python"), "-m", "moto.server", "-H", "127.0.0.1", "-p", strconv.Itoa(port))
}

// topic is one of SNS.
type topic struct {
	client *sns.Client
	arn    string
}

func newTopic(t *testing.T, s *service) topic {
	t.Helper()
	c := sns.New(sns.Options{Region: "eu-west-1", BaseEndpoint: &s.url, Credentials: keys()})
	made, err := c.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String(fmt.Sprintf("topic%d", s.names.Add(1)))})
	if err != nil {
		t.Fatal(err)
	}
	return topic{c, aws.ToString(made.TopicArn)}
}

// leadTo subscribes a queue, for envelopes or for raw messages.
func (tp topic) leadTo(t *testing.T, s *service, queue string, raw bool) {
	t.Helper()
	_, err := tp.client.Subscribe(t.Context(), &sns.SubscribeInput{
		TopicArn: &tp.arn, Protocol: aws.String("sqs"), Endpoint: aws.String(s.arn(t, queue)),
		Attributes: map[string]string{"RawMessageDelivery": strconv.FormatBool(raw)},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (tp topic) publish(t *testing.T, body string, attributes map[string]types.MessageAttributeValue) {
	t.Helper()
	_, err := tp.client.Publish(t.Context(), &sns.PublishInput{TopicArn: &tp.arn, Message: &body, MessageAttributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
}

func tenant(name string) map[string]types.MessageAttributeValue {
	return map[string]types.MessageAttributeValue{"tenant": {DataType: aws.String("String"), StringValue: &name}}
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
	s := newService(t, moto(t).url, false)
	queue := s.newQueue(t)
	from := newTopic(t, s)
	from.leadTo(t, s, queue, false)
	from.publish(t, `{"order":7}`, tenant("acme"))
	b := openWith(t, s.url, nil)
	session := attach(t, b, broker.Subscription{Queue: queue, Rungs: []time.Duration{rung}, Hold: time.Second})
	consume(t, session, 1)
	first := receive(t, session)
	id := first.Message().Headers["x-sqs-message-id"]
	follow := func(d broker.Delivery, attempt, lap int) {
		t.Helper()
		wants(t, d, `{"order":7}`, attempt)
		m := d.Message()
		if m.Lap != lap || m.Headers["tenant"] != "acme" || m.Headers["x-sqs-message-id"] != id || m.Origin.Exchange != from.arn {
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
	replayed(t, b, queue, `{"order":7}`)
	fresh := receive(t, session)
	follow(fresh, 1, 0)
	settle(t, fresh, broker.Settlement{Fate: broker.FateDone})
}

// replayed puts the one message that is parked back into its queue.
func replayed(t *testing.T, b broker.Broker, queue, body string) {
	t.Helper()
	sifted, err := b.(broker.Sifter).Sift(t.Context(), beside(parkedSuffix)(queue), broker.SiftOptions{},
		func(_ context.Context, m *broker.Stored) (broker.Action, error) {
			if string(m.Message.Body) != body || m.Capture == nil {
				t.Errorf("parked %s, %v", m.Message.Body, m.CaptureErr)
			}
			return broker.Action{Verb: broker.VerbCopy, Target: broker.Target{Queue: queue}, Fresh: true}, nil
		})
	if err != nil || sifted.Copied != 1 {
		t.Fatalf("the replay: %+v, %v", sifted, err)
	}
}

// TestWhatOneSubscriberParksIsNoOthers has one topic before two queues, one of
// raw messages and one of envelopes. What happens in one is not seen in the
// other, whichever of them it is.
func TestWhatOneSubscriberParksIsNoOthers(t *testing.T) {
	t.Parallel()
	s := newService(t, moto(t).url, false)
	for name, rawParks := range map[string]bool{"raw_parks": true, "enveloped_parks": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parking, other := s.newQueue(t), s.newQueue(t)
			from := newTopic(t, s)
			from.leadTo(t, s, parking, rawParks)
			from.leadTo(t, s, other, !rawParks)
			from.publish(t, "order", tenant("acme"))
			b := openWith(t, s.url, nil)
			parks := attach(t, b, broker.Subscription{Queue: parking, Hold: time.Hour})
			does := attach(t, b, broker.Subscription{Queue: other, Hold: time.Hour})
			consume(t, parks, 1)
			consume(t, does, 1)
			for session, fate := range map[broker.Session]broker.Fate{parks: broker.FatePark, does: broker.FateDone} {
				d := receive(t, session)
				wants(t, d, "order", 1)
				if d.Message().Headers["tenant"] != "acme" {
					t.Errorf("it came with the headers %v", d.Message().Headers)
				}
				set := broker.Settlement{Fate: fate}
				if fate == broker.FatePark {
					set.Capture = failed(parking)
				}
				settle(t, d, set)
			}
			replayed(t, b, parking, "order")
			again := receive(t, parks)
			wants(t, again, "order", 1)
			settle(t, again, broker.Settlement{Fate: broker.FateDone})
			receivesNothing(t, does, 2*settings(s.url).Wait)
		})
	}
}
