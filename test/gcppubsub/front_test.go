package gcppubsub

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/holdfast-mq/holdfast/broker"
)

// pullTakes is how long a pull waits for a message: well below what the driver
// waits for its answer, so that no answer is lost on a busy machine.
const pullTakes = 300 * time.Millisecond

// front is a server before pstest.
type front struct {
	pubsubpb.PublisherServer
	pubsubpb.SubscriberServer
	addr string

	mu   sync.Mutex
	subs map[string]*counted
}

// counted is what the front knows of a subscription.
type counted struct {
	topic    string
	deadline time.Duration
	live     map[string]bool // by message id: published and not acknowledged
	out      map[string]out  // by message id
	streams  map[*flow]bool
	lastPull time.Time
}

// out is a message that was handed out.
type out struct {
	ackID string
	until time.Time
	to    *flow // nil: to a pull
}

// start starts a pstest and its front for one configuration.
func start(t *testing.T, opts ...pstest.ServerReactorOption) *front {
	t.Helper()
	inner := pstest.NewServer(opts...)
	t.Cleanup(func() { _ = inner.Close() })
	f := &front{PublisherServer: &inner.GServer, SubscriberServer: &inner.GServer, subs: map[string]*counted{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(32<<20), grpc.MaxSendMsgSize(32<<20))
	pubsubpb.RegisterPublisherServer(server, f)
	pubsubpb.RegisterSubscriberServer(server, f)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	f.addr = listener.Addr().String()
	return f
}

// CreateSubscription implements pubsubpb.SubscriberServer.
func (f *front) CreateSubscription(ctx context.Context, sub *pubsubpb.Subscription) (*pubsubpb.Subscription, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	made, err := f.SubscriberServer.CreateSubscription(ctx, sub)
	if err == nil {
		f.subs[sub.GetName()] = &counted{
			topic: sub.GetTopic(), deadline: time.Duration(sub.GetAckDeadlineSeconds()) * time.Second,
			live: map[string]bool{}, out: map[string]out{}, streams: map[*flow]bool{},
		}
	}
	return made, err
}

// DeleteSubscription implements pubsubpb.SubscriberServer.
func (f *front) DeleteSubscription(ctx context.Context, r *pubsubpb.DeleteSubscriptionRequest) (*emptypb.Empty, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.subs[r.GetSubscription()]; s != nil {
		for stream := range s.streams {
			close(stream.gone)
		}
		delete(f.subs, r.GetSubscription())
	}
	return f.SubscriberServer.DeleteSubscription(ctx, r)
}

// Publish implements pubsubpb.PublisherServer.
func (f *front) Publish(ctx context.Context, r *pubsubpb.PublishRequest) (*pubsubpb.PublishResponse, error) {
	f.mu.Lock() // or it could be pulled before it is counted
	defer f.mu.Unlock()
	answer, err := f.PublisherServer.Publish(ctx, r)
	for _, id := range answer.GetMessageIds() {
		for _, s := range f.subs {
			if s.topic == r.GetTopic() {
				s.live[id] = true
			}
		}
	}
	return answer, err
}

// Pull implements pubsubpb.SubscriberServer.
func (f *front) Pull(ctx context.Context, r *pubsubpb.PullRequest) (*pubsubpb.PullResponse, error) {
	wait := !r.GetReturnImmediately() //nolint:staticcheck // it is what the driver sends
	r.ReturnImmediately = true        //nolint:staticcheck // pstest would not wake up for a message
	for end := time.Now().Add(pullTakes); ; {
		f.mu.Lock()
		answer, err := f.SubscriberServer.Pull(ctx, r)
		if s := f.subs[r.GetSubscription()]; s != nil {
			if wait {
				s.lastPull = time.Now()
			}
			s.handOut(nil, answer.GetReceivedMessages())
		}
		f.mu.Unlock()
		if err != nil || len(answer.GetReceivedMessages()) > 0 || !wait || time.Now().After(end) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// handOut counts messages as out. The front's lock is held.
func (s *counted) handOut(to *flow, list []*pubsubpb.ReceivedMessage) {
	for _, m := range list {
		s.out[m.GetMessage().GetMessageId()] = out{m.GetAckId(), time.Now().Add(s.deadline), to}
	}
}

// Acknowledge implements pubsubpb.SubscriberServer.
func (f *front) Acknowledge(ctx context.Context, r *pubsubpb.AcknowledgeRequest) (*emptypb.Empty, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.subs[r.GetSubscription()]; s != nil {
		s.each(r.GetAckIds(), func(id string) {
			delete(s.live, id)
			delete(s.out, id)
		})
	}
	return f.SubscriberServer.Acknowledge(ctx, r)
}

// ModifyAckDeadline implements pubsubpb.SubscriberServer.
func (f *front) ModifyAckDeadline(ctx context.Context, r *pubsubpb.ModifyAckDeadlineRequest) (*emptypb.Empty, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.subs[r.GetSubscription()]; s != nil {
		s.each(r.GetAckIds(), func(id string) {
			o := s.out[id]
			o.until = time.Now().Add(time.Duration(r.GetAckDeadlineSeconds()) * time.Second)
			s.out[id] = o
		})
	}
	return f.SubscriberServer.ModifyAckDeadline(ctx, r)
}

// each calls do for the message of each ack id that is still good.
func (s *counted) each(ackIDs []string, do func(id string)) {
	good := map[string]bool{}
	for _, ackID := range ackIDs {
		good[ackID] = true
	}
	for id, o := range s.out {
		if good[o.ackID] && time.Now().Before(o.until) {
			do(id)
		}
	}
}

// depth is what Cloud Monitoring would know, without its delay.
func (f *front) depth(_ context.Context, name string) (broker.Depth, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.subs[name]
	if s == nil {
		return broker.Depth{}, broker.ErrMissing
	}
	d := broker.Depth{Messages: len(s.live), Consumers: len(s.streams)}
	for id, o := range s.out {
		if s.live[id] && time.Now().Before(o.until) {
			d.Messages--
		}
	}
	if d.Consumers == 0 && time.Since(s.lastPull) < 2*time.Second {
		d.Consumers = 1
	}
	return d, nil
}
