package gcppubsub

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-mq/holdfast/broker"
)

// react is an answer of the server's in place of its own, for requests that it
// returns an error for.
type react func(request any) error

// React implements [pstest.Reactor].
func (r react) React(request any) (handled bool, ret any, err error) {
	err = r(request)
	return err != nil, nil, err
}

func on(call string, r react) pstest.ServerReactorOption {
	return pstest.ServerReactorOption{FuncName: call, Reactor: r}
}

// With exactly-once delivery the server names the ids that it did not take. The
// neighbours in the same request were acknowledged.
func TestExactlyOnce_a_refused_acknowledgement_is_a_settlement_failure(t *testing.T) {
	t.Parallel()
	var refuse atomic.Bool
	s := newStation(t, counting, on("Acknowledge", func(request any) error {
		ids := request.(*pubsubpb.AcknowledgeRequest).GetAckIds()
		if !refuse.Load() {
			return nil
		}
		refused, err := status.New(codes.FailedPrecondition, "some ack ids in the request were invalid").WithDetails(
			&errdetails.ErrorInfo{Reason: "EXACTLY_ONCE_ACKID_FAILURE", Domain: "pubsub.googleapis.com", Metadata: map[string]string{
				ids[0]: "PERMANENT_FAILURE_INVALID_ACK_ID",
			}})
		must(t, err)
		return refused.Err()
	}))
	at := s.sit(t, s.newQueue(t), nil)
	s.publish(t, at.queue, &broker.Message{Body: []byte("a")})
	d := at.receive()
	refuse.Store(true)
	if err := settle(t, d, at.stamped(broker.FatePark, 1)); !errors.Is(err, broker.ErrUnknown) {
		t.Errorf("the outcome is %v", err)
	}
	<-at.session.Done()
	refuse.Store(false)
	if m := s.sit(t, at.queue, nil).receive().Message(); m.Attempt != 2 {
		t.Errorf("it came again as attempt %d", m.Attempt)
	}
}

// A lease that exactly-once delivery has ended is not settled any more.
func TestExactlyOnce_an_ended_lease_is_told_by_the_settlement(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 100)
	s := newStation(t, counting, on("ModifyAckDeadline", func(request any) error {
		r := request.(*pubsubpb.ModifyAckDeadlineRequest)
		if r.GetAckDeadlineSeconds() == 0 || !strings.Contains(r.GetSubscription(), "source") {
			return nil
		}
		ended <- struct{}{}
		refused, err := status.New(codes.FailedPrecondition, "some ack ids in the request were invalid").WithDetails(
			&errdetails.ErrorInfo{Metadata: map[string]string{r.GetAckIds()[0]: "PERMANENT_FAILURE_INVALID_ACK_ID"}})
		must(t, err)
		return refused.Err()
	}))
	at := s.sit(t, s.newQueue(t), nil)
	s.publish(t, at.queue, &broker.Message{Body: []byte("a")})
	d := at.receive()
	<-ended
	again := at.receive()
	if err := settle(t, d, at.stamped(broker.FatePark, 1)); !errors.Is(err, broker.ErrClosed) {
		t.Errorf("the outcome is %v", err)
	}
	must(t, settle(t, again, done))
	if depth, err := at.b.(broker.Sifter).Depth(ctx(t), at.queue+"-parked"); err != nil || depth.Messages != 0 {
		t.Errorf("%d are parked, %v", depth.Messages, err)
	}
}

// The publish fails in a way that nobody retries: the original stays.
func TestPark_whose_publish_fails_leaves_the_delivery_open(t *testing.T) {
	t.Parallel()
	var refuse atomic.Bool
	s := newStation(t, counting, on("Publish", func(request any) error {
		if refuse.Load() && strings.HasSuffix(request.(*pubsubpb.PublishRequest).GetTopic(), "-parked") {
			return status.Error(codes.InvalidArgument, "no")
		}
		return nil
	}))
	at := s.sit(t, s.newQueue(t), nil)
	s.publish(t, at.queue, &broker.Message{Body: []byte("a")})
	d := at.receive()
	refuse.Store(true)
	if err := settle(t, d, at.stamped(broker.FatePark, 1)); !errors.Is(err, broker.ErrRefused) {
		t.Errorf("the outcome is %v", err)
	}
	must(t, settle(t, d, broker.Settlement{Fate: broker.FateRelease}))
	refuse.Store(false)
	must(t, settle(t, at.receive(), at.stamped(broker.FatePark, 2)))
	at.parked()
}

// Nobody can say whether the copy is stored: the session is over and the
// message comes again.
func TestPark_without_an_answer_ends_the_session(t *testing.T) {
	t.Parallel()
	var silent atomic.Bool
	s := newStation(t, counting, on("Publish", func(request any) error {
		if silent.Load() && strings.HasSuffix(request.(*pubsubpb.PublishRequest).GetTopic(), "-parked") {
			return status.Error(codes.Internal, "no")
		}
		return nil
	}))
	at := s.sit(t, s.newQueue(t), nil)
	s.publish(t, at.queue, &broker.Message{Body: []byte("a")})
	d := at.receive()
	silent.Store(true)
	if err := settle(t, d, at.stamped(broker.FatePark, 1)); !errors.Is(err, broker.ErrUnknown) {
		t.Errorf("the outcome is %v", err)
	}
	<-at.session.Done()
	if err := at.session.Err(); !errors.Is(err, broker.ErrUnknown) || broker.Permanent(err) {
		t.Errorf("the session ended with %v", err)
	}
	silent.Store(false)
	s.sit(t, at.queue, nil).receive()
}

func TestOpen_without_the_permission_to_look_at_the_source_says_so(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting, on("GetSubscription", func(request any) error {
		if name := request.(*pubsubpb.GetSubscriptionRequest).GetSubscription(); strings.HasSuffix(name, "source1") {
			return status.Error(codes.PermissionDenied, "no")
		}
		return nil
	}))
	at := s.sit(t, s.newQueue(t), nil)
	if n := at.warnings("GetSubscription", "pubsub.subscriptions.get", "PermissionDenied"); n != 1 {
		t.Errorf("%d warnings: %+v", n, at.notices)
	}
	if caps := at.session.Capabilities(); caps.Attempts || caps.Unenforceable == "" || caps.NativeLimit != 0 {
		t.Errorf("it declares %+v", caps)
	}
	s.publish(t, at.queue, &broker.Message{Body: []byte("a")})
	must(t, settle(t, at.receive(), at.stamped(broker.FateDelay, 2)))
	d := at.receive()
	if d.Message().Attempt != 2 {
		t.Errorf("attempt %d", d.Message().Attempt)
	}
	must(t, settle(t, d, done))
}

// A grant that is missing for the failure path is known before the first
// message.
func TestOpen_without_the_permission_to_make_places_fails(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting, on("CreateTopic", func(request any) error {
		if strings.HasSuffix(request.(*pubsubpb.Topic).GetName(), "-parked") {
			return status.Error(codes.PermissionDenied, "no")
		}
		return nil
	}))
	b := s.open(t)
	defer b.Close()
	_, err := b.Open(ctx(t), broker.Subscription{Queue: s.newQueue(t), Hold: time.Minute})
	if !errors.Is(err, broker.ErrPermission) || !strings.Contains(err.Error(), "pubsub.topics.create") {
		t.Errorf("the error is %v", err)
	}
}
