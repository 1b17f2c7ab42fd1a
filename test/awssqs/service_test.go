package awssqs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/awssqs"
	"github.com/holdfast-mq/holdfast/test/faultproxy"
)

const (
	parkedSuffix = "-parked"
	holdSuffix   = "-hold"

	// lease is how long a message stays with a consumer that is gone.
	lease = 3 * time.Second

	// longer is by how much a cut outlasts a lease: a client that has nothing
	// under way sees a shorter one nowhere.
	longer = time.Second

	// callTakes bounds what the plain client does.
	callTakes = 20 * time.Second
)

// service is an emulator for one configuration, and a plain client that does
// there what producers and operators do.
type service struct {
	url    string
	fifo   bool
	sns    bool // what is published arrives in the envelope of SNS
	lease  time.Duration
	plain  *sqs.Client
	sender broker.Publisher
	names  *atomic.Int64

	boxes sync.Mutex
	box   string

	mu   sync.Mutex
	cuts map[broker.Broker]func()
}

// queueNames counts over all configurations: they share an emulator.
var queueNames atomic.Int64

func keys() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("test", "test", "")
}

func settings(url string) awssqs.Config {
	return awssqs.Config{
		AWS: &aws.Config{}, Region: "eu-west-1", Endpoint: url, Credentials: keys(), Lease: lease, Wait: time.Second, Attempts: 1,
	}
}

func newService(t *testing.T, url string, fifo bool) *service {
	t.Helper()
	s := &service{url: url, fifo: fifo, lease: lease, names: &queueNames, cuts: map[broker.Broker]func(){}}
	s.plain = sqs.New(sqs.Options{Region: "eu-west-1", BaseEndpoint: &url, Credentials: keys()})
	b, err := awssqs.Open(t.Context(), settings(url))
	if err != nil {
		t.Fatal(err)
	}
	s.sender = b
	t.Cleanup(func() { _ = b.Close() })
	return s
}

// open opens the driver over connections of its own, so that they can be cut
// and no other's.
func (s *service) open(t *testing.T) broker.Broker {
	t.Helper()
	p, through := faultproxy.Before(t, s.url)
	conf := settings(through)
	conf.Lease = s.lease
	b, err := awssqs.Open(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cuts[b] = func() { p.CutFor(s.lease + longer) }
	return b
}

func (s *service) cut(_ *testing.T, b broker.Broker) {
	s.mu.Lock()
	cut := s.cuts[b]
	s.mu.Unlock()
	cut()
}

// do uses the plain client.
func (s *service) do(t *testing.T, what string, request func(context.Context, *sqs.Client) error) {
	t.Helper()
	// Not the test's own context: cleanups run after its end.
	ctx, cancel := context.WithTimeout(context.Background(), callTakes)
	defer cancel()
	if err := request(ctx, s.plain); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func (s *service) newQueue(t *testing.T) string {
	t.Helper()
	queue := s.newName()
	s.recreateQueue(t, queue)
	t.Cleanup(func() { s.deleteQueue(t, queue) })
	return queue
}

// newLimitedQueue makes a queue with a redrive policy.
func (s *service) newLimitedQueue(t *testing.T, limit int) string {
	t.Helper()
	dead := s.newQueue(t)
	queue := s.newName()
	s.create(t, queue, map[string]string{
		"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"%d"}`, s.arn(t, dead), limit),
	})
	t.Cleanup(func() { s.deleteQueue(t, queue) })
	return queue
}

func (s *service) newName() string {
	queue := fmt.Sprintf("q%d", s.names.Add(1))
	if s.fifo {
		queue += ".fifo"
	}
	return queue
}

func (s *service) recreateQueue(t *testing.T, queue string) {
	t.Helper()
	s.create(t, queue, nil)
}

func (s *service) create(t *testing.T, queue string, a map[string]string) {
	t.Helper()
	all := map[string]string{}
	if s.fifo {
		// By its content, so that a copy without an id of its own is swallowed.
		all["FifoQueue"], all["ContentBasedDeduplication"] = "true", "true"
	}
	for name, v := range a {
		all[name] = v
	}
	s.do(t, "make "+queue, func(ctx context.Context, c *sqs.Client) error {
		_, err := c.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &queue, Attributes: all})
		return err
	})
}

func (s *service) urlOf(t *testing.T, queue string) (url string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callTakes)
	defer cancel()
	out, err := s.plain.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &queue})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.QueueUrl), nil
}

func (s *service) deleteQueue(t *testing.T, queue string) {
	t.Helper()
	url, err := s.urlOf(t, queue)
	if missing(err) {
		return // a case has deleted it
	}
	if err != nil {
		t.Fatalf("delete %s: %v", queue, err)
	}
	s.do(t, "delete "+queue, func(ctx context.Context, c *sqs.Client) error {
		_, err := c.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url})
		if missing(err) {
			return nil
		}
		return err
	})
}

func missing(err error) bool {
	var answer smithy.APIError
	return errors.As(err, &answer) && strings.HasSuffix(answer.ErrorCode(), "NonExistentQueue") || errors.As(err, new(*types.QueueDoesNotExist))
}

// publish sends a message with a group of its own, so that nothing waits for
// another.
func (s *service) publish(t *testing.T, queue string, m *broker.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callTakes)
	defer cancel()
	key := ""
	if s.fifo {
		key = fmt.Sprintf("group-%d", s.names.Add(1))
	}
	if s.sns {
		m = &broker.Message{Body: s.enveloped(t, m)}
	}
	if err := s.sender.Publish(ctx, broker.Target{Queue: queue, Key: key}, m); err != nil {
		t.Fatalf("publish: %v", err)
	}
}

// beside names a queue of the driver's.
func beside(suffix string) func(string) string {
	return func(queue string) string {
		name, fifo := strings.CutSuffix(queue, ".fifo")
		if fifo {
			return name + suffix + ".fifo"
		}
		return name + suffix
	}
}
