package awssqs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
)

// client is SQS as the driver uses it: each call is bounded, and its error has
// a class. There is no connection to lose: a session ends when a receive fails.
type client struct {
	api  *sqs.Client
	call time.Duration
}

func newClient(ctx context.Context, c Config) (*client, error) {
	base := c.AWS
	if base == nil {
		loaded, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: awssqs: Config.AWS is not given, and the settings of the environment cannot be read: %w", broker.ErrConfig, err)
		}
		base = &loaded
	}
	api := sqs.NewFromConfig(*base, func(o *sqs.Options) {
		if c.Region != "" {
			o.Region = c.Region
		}
		if c.Endpoint != "" {
			o.BaseEndpoint = aws.String(c.Endpoint)
		}
		if c.Credentials != nil {
			o.Credentials = c.Credentials
		}
		if o.Credentials != nil {
			o.Credentials = classified{o.Credentials}
		}
		o.Retryer = retry.AddWithMaxAttempts(retry.NewStandard(), c.Attempts)
	})
	if api.Options().Region == "" {
		return nil, fmt.Errorf("%w: awssqs: Config.Region is required, since neither Config.AWS nor the environment names a region", broker.ErrConfig)
	}
	return &client{api: api, call: c.CallTimeout}, nil
}

// classified gives the failure to get credentials its class, which the client
// library leaves to its text.
type classified struct{ aws.CredentialsProvider }

func (c classified) Retrieve(ctx context.Context) (aws.Credentials, error) {
	found, err := c.CredentialsProvider.Retrieve(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w: %w", broker.ErrCredentials, err)
	}
	return found, err
}

// bounded makes one call.
func (c *client) bounded(ctx context.Context, extra time.Duration, what, action string, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.call+extra)
	defer cancel()
	return classify(what, action, call(ctx))
}

// url finds a queue by its name; an URL is one already.
func (c *client) url(ctx context.Context, queue string) (url string, err error) {
	if isURL(queue) {
		return queue, nil
	}
	err = c.bounded(ctx, 0, "queue "+queue, "GetQueueUrl", func(ctx context.Context) error {
		out, err := c.api.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &queue})
		if err == nil {
			url = aws.ToString(out.QueueUrl)
		}
		return err
	})
	return url, err
}

func (c *client) attributes(ctx context.Context, url string) (a map[string]string, err error) {
	err = c.bounded(ctx, 0, "queue "+nameOf(url), "GetQueueAttributes", func(ctx context.Context) error {
		out, err := c.api.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
		})
		if err == nil {
			a = out.Attributes
		}
		return err
	})
	return a, err
}

func (c *client) create(ctx context.Context, name string, a map[string]string) (url string, err error) {
	err = c.bounded(ctx, 0, "make queue "+name, "CreateQueue", func(ctx context.Context) error {
		out, err := c.api.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: a})
		if err == nil {
			url = aws.ToString(out.QueueUrl)
		}
		return err
	})
	return url, err
}

// asked is one receive.
type asked struct {
	url     string
	most    int
	hidden  time.Duration // the visibility timeout
	wait    time.Duration
	attempt string // names the receive of a FIFO queue, so that one that is sent again brings the same
}

func (c *client) receive(ctx context.Context, a asked) (list []types.Message, err error) {
	in := &sqs.ReceiveMessageInput{
		QueueUrl: &a.url, MaxNumberOfMessages: int32(a.most), VisibilityTimeout: seconds(a.hidden), WaitTimeSeconds: seconds(a.wait),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		ReceiveRequestAttemptId:     optional(a.attempt),
	}
	err = c.bounded(ctx, a.wait, "receive from "+nameOf(a.url), "ReceiveMessage", func(ctx context.Context) error {
		out, err := c.api.ReceiveMessage(ctx, in)
		if err == nil {
			list = out.Messages
		}
		return err
	})
	return list, err
}

// seconds rounds up: a message never comes back sooner than asked.
func seconds(d time.Duration) int32 {
	return int32((max(d, 0) + time.Second - 1) / time.Second)
}

// hiding is one message whose visibility changes.
type hiding struct {
	receipt string
	seconds int32
}

// hide changes the visibility of up to ten messages, with a result for each.
func (c *client) hide(ctx context.Context, url string, list []hiding) []error {
	in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &url}
	for i, h := range list {
		in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(h.receipt), VisibilityTimeout: h.seconds,
		})
	}
	r := newResults(len(list))
	err := c.bounded(ctx, 0, "change visibility in "+nameOf(url), "ChangeMessageVisibility", func(ctx context.Context) error {
		out, err := c.api.ChangeMessageVisibilityBatch(ctx, in)
		if err == nil {
			for _, ok := range out.Successful {
				r.succeeded(ok.Id)
			}
			r.failed(out.Failed)
		}
		return err
	})
	return r.all(err)
}

// remove deletes up to ten messages, with a result for each.
func (c *client) remove(ctx context.Context, url string, receipts []string) []error {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &url}
	for i, receipt := range receipts {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(receipt),
		})
	}
	r := newResults(len(receipts))
	err := c.bounded(ctx, 0, "delete from "+nameOf(url), "DeleteMessage", func(ctx context.Context) error {
		out, err := c.api.DeleteMessageBatch(ctx, in)
		if err == nil {
			for _, ok := range out.Successful {
				r.succeeded(ok.Id)
			}
			r.failed(out.Failed)
		}
		return err
	})
	return r.all(err)
}
