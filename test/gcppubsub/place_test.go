package gcppubsub

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	vkit "cloud.google.com/go/pubsub/v2/apiv1"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/holdfast-mq/holdfast/broker"
	driver "github.com/holdfast-mq/holdfast/broker/gcppubsub"
	"github.com/holdfast-mq/holdfast/test/faultproxy"
)

const (
	project = "suite"

	// ackDeadline is how long a message stays with a consumer that is gone, in
	// seconds: long enough that a busy machine extends it in time.
	ackDeadline = 4

	// maxAttempts is the native limit of a source with a dead-letter policy.
	maxAttempts = 100

	callTakes = 20 * time.Second
)

// kind is a configuration of source subscriptions.
type kind struct {
	mode     driver.Mode
	ordering bool
	policy   bool
}

func (k kind) String() string {
	name := string(k.mode)
	if k.ordering {
		name += "_ordered"
	}
	if k.policy {
		name += "_dead_letters"
	}
	return name
}

// station is a server for one configuration, and a plain client that does
// there what producers and operators do.
type station struct {
	kind
	front  *front
	names  atomic.Int64
	topics *vkit.TopicAdminClient
	subs   *vkit.SubscriptionAdminClient

	mu   sync.Mutex
	cuts map[broker.Broker]func()
}

func newStation(t *testing.T, k kind, opts ...pstest.ServerReactorOption) *station {
	t.Helper()
	s := &station{kind: k, front: start(t, opts...), cuts: map[broker.Broker]func(){}}
	plain := []option.ClientOption{
		option.WithEndpoint(s.front.addr), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
		option.WithGRPCDialOption(grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(32 << 20))),
	}
	var err error
	if s.topics, err = vkit.NewTopicAdminClient(t.Context(), plain...); err != nil {
		t.Fatal(err)
	}
	if s.subs, err = vkit.NewSubscriptionAdminClient(t.Context(), plain...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.topics.Close()
		_ = s.subs.Close()
	})
	s.make(t, "dead", nil)
	return s
}

// config is how a client reaches the station through addr.
func (s *station) config(addr string) driver.Config {
	return driver.Config{Project: project, Emulator: addr, Mode: s.mode, Backlog: s.front.depth}
}

// open opens the driver over a connection of its own, so that it can be cut
// and no other's.
func (s *station) open(t *testing.T) broker.Broker {
	t.Helper()
	p := faultproxy.Start(t, s.front.addr)
	b, err := driver.Open(t.Context(), s.config(p.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cuts[b] = p.CutTwice
	return b
}

func (s *station) cut(_ *testing.T, b broker.Broker) {
	s.mu.Lock()
	cut := s.cuts[b]
	s.mu.Unlock()
	cut()
}

func topicName(id string) string { return "projects/" + project + "/topics/" + id }
func subName(id string) string   { return "projects/" + project + "/subscriptions/" + id }

func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), callTakes) // cleanups run after the end of a test's own
}

// make makes a topic and a subscription of one id.
func (s *station) make(t *testing.T, id string, change func(*pubsubpb.Subscription)) {
	t.Helper()
	ctx, cancel := bounded()
	defer cancel()
	if _, err := s.topics.CreateTopic(ctx, &pubsubpb.Topic{Name: topicName(id)}); err != nil {
		t.Fatal(err)
	}
	sub := &pubsubpb.Subscription{Name: subName(id), Topic: topicName(id), AckDeadlineSeconds: ackDeadline}
	if change != nil {
		change(sub)
	}
	if _, err := s.subs.CreateSubscription(ctx, sub); err != nil {
		t.Fatal(err)
	}
}

func (s *station) source(sub *pubsubpb.Subscription) {
	sub.EnableMessageOrdering = s.ordering
	if s.policy {
		sub.DeadLetterPolicy = &pubsubpb.DeadLetterPolicy{DeadLetterTopic: topicName("dead"), MaxDeliveryAttempts: maxAttempts}
	}
}

func (s *station) newQueue(t *testing.T) string {
	t.Helper()
	queue := fmt.Sprintf("source%d", s.names.Add(1))
	s.make(t, queue, s.source)
	t.Cleanup(func() { s.deleteAll(t, queue) })
	return queue
}

func (s *station) newLimitedQueue(t *testing.T, limit int) string {
	t.Helper()
	queue := fmt.Sprintf("source%d", s.names.Add(1))
	s.make(t, queue, func(sub *pubsubpb.Subscription) {
		s.source(sub)
		sub.DeadLetterPolicy.MaxDeliveryAttempts = int32(limit)
	})
	t.Cleanup(func() { s.deleteAll(t, queue) })
	return queue
}

// deleteAll deletes a source with its places: pstest works for each
// subscription all the time.
func (s *station) deleteAll(t *testing.T, queue string) {
	t.Helper()
	for _, suffix := range []string{"", "-parked", "-hold", "-retry", "-back"} {
		s.deleteQueue(t, queue+suffix)
	}
}

func (s *station) recreateQueue(t *testing.T, queue string) {
	t.Helper()
	s.make(t, queue, s.source)
}

// deleteQueue deletes a subscription and its topic, which have one id.
func (s *station) deleteQueue(t *testing.T, queue string) {
	t.Helper()
	ctx, cancel := bounded()
	defer cancel()
	err := s.subs.DeleteSubscription(ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: subName(queue)})
	if err != nil && status.Code(err) != codes.NotFound { // a case has deleted it
		t.Fatal(err)
	}
	err = s.topics.DeleteTopic(ctx, &pubsubpb.DeleteTopicRequest{Topic: topicName(queue)})
	if err != nil && status.Code(err) != codes.NotFound {
		t.Fatal(err)
	}
}

// publish gives each message a key of its own where the source is ordered:
// pstest hands out one message of a key at a time.
func (s *station) publish(t *testing.T, queue string, m *broker.Message) {
	t.Helper()
	key := ""
	if s.ordering {
		key = fmt.Sprintf("key-%d", s.names.Add(1))
	}
	s.send(t, queue, key, m)
}

func (s *station) publishVia(t *testing.T, queue string, m *broker.Message) (exchange, key string) {
	t.Helper()
	s.send(t, queue, "first.key", m)
	return queue, "first.key"
}

func (s *station) send(t *testing.T, topic, key string, m *broker.Message) {
	t.Helper()
	ctx, cancel := bounded()
	defer cancel()
	_, err := s.topics.Publish(ctx, &pubsubpb.PublishRequest{Topic: topicName(topic), Messages: []*pubsubpb.PubsubMessage{{
		Data: m.Body, Attributes: attributes(m), OrderingKey: key,
	}}})
	if err != nil {
		t.Fatal(err)
	}
}

// attributes is m as a producer writes it: Pub/Sub has attributes of text and
// a name of its own for nothing.
func attributes(m *broker.Message) map[string]string {
	a := map[string]string{}
	for name, v := range m.Headers {
		a[name] = fmt.Sprint(v)
	}
	for name, text := range map[string]string{
		"Message-Id": m.ID, "Correlation-Id": m.CorrelationID, "Reply-To": m.ReplyTo, "Content-Type": m.ContentType,
		"Content-Encoding": m.ContentEncoding, "Type": m.Type, "App-Id": m.AppID,
	} {
		if text != "" {
			a[name] = strings.ToValidUTF8(text, "?") // the client takes nothing else
		}
	}
	if !m.Timestamp.IsZero() {
		a["Timestamp"] = m.Timestamp.UTC().Format(time.RFC3339Nano)
	}
	return a
}
