package gcppubsub

import (
	"context"
	"errors"
	"slices"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"
	"github.com/googleapis/gax-go/v2/apierror"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// idsPerCall keeps a request below the 512 KiB that the service takes.
	idsPerCall = 1000

	// ackTimeout bounds an acknowledgement, which is not raced against a stop.
	ackTimeout = 5 * time.Second

	// lossShows is how long it may take until it is known of a connection that
	// it cannot be mended.
	lossShows = time.Second
)

// pull asks for messages. now says not to wait for one.
func (c *conn) pull(ctx context.Context, subscription string, n int, now bool) ([]*pubsubpb.ReceivedMessage, error) {
	request := &pubsubpb.PullRequest{Subscription: subscription, MaxMessages: int32(n)}
	request.ReturnImmediately = now //nolint:staticcheck // a look at a second subscription must not wait for the first
	answer, err := c.subs.Pull(ctx, request, once)
	if err != nil {
		return nil, err
	}
	return answer.GetReceivedMessages(), nil
}

// acknowledge lets the broker forget deliveries. What is not in failed was
// forgotten: a subscription with exactly-once delivery names what was not, and
// any other does not know.
func (c *conn) acknowledge(subscription string, ids []string) (failed map[string]error) {
	return inChunks(ids, func(chunk []string) error {
		ctx, cancel := context.WithTimeout(context.Background(), ackTimeout)
		defer cancel()
		var asked peer.Peer
		err := c.subs.Acknowledge(ctx, &pubsubpb.AcknowledgeRequest{Subscription: subscription, AckIds: chunk}, once,
			gax.WithGRPCOptions(grpc.Peer(&asked)))
		return c.unanswered(ctx, asked.Addr != nil, err)
	})
}

// unanswered forgives an acknowledgement that was sent on a connection that
// was lost before the answer: the fate is durable and the broker was told. If
// it did not hear it the message comes again, and is then one that was settled
// twice. To call it released would be wrong whenever the broker did hear.
func (c *conn) unanswered(ctx context.Context, sent bool, err error) error {
	if err == nil || !sent || code(err) != codes.Unavailable {
		return err
	}
	select {
	case <-c.dead:
		return nil
	case <-time.After(lossShows):
	case <-ctx.Done():
	}
	return err
}

// lease lets the broker wait for so long from now on for the acknowledgement
// of deliveries, in whole seconds up to 600; 0 gives them back.
func (c *conn) lease(ctx context.Context, subscription string, ids []string, seconds int32) (failed map[string]error) {
	return inChunks(ids, func(chunk []string) error {
		ctx, cancel := c.bounded(ctx)
		defer cancel()
		return c.subs.ModifyAckDeadline(ctx, &pubsubpb.ModifyAckDeadlineRequest{
			Subscription: subscription, AckIds: chunk, AckDeadlineSeconds: seconds,
		}, once)
	})
}

func inChunks(ids []string, call func([]string) error) map[string]error {
	failed := map[string]error{}
	for chunk := range slices.Chunk(ids, idsPerCall) {
		if err := call(chunk); err != nil {
			sortOut(chunk, err, failed)
		}
	}
	return failed
}

// sortOut finds which ids an error is about. Exactly-once delivery names them
// in the error's details; without names it is all of them.
func sortOut(ids []string, err error, failed map[string]error) {
	var api *apierror.APIError
	named := map[string]string{}
	if errors.As(err, &api) {
		named = api.Metadata()
	}
	some := false
	for _, id := range ids {
		if what, ok := named[id]; ok {
			some = true
			failed[id] = errors.Join(errors.New(what), err)
		}
	}
	if !some {
		for _, id := range ids {
			failed[id] = err
		}
	}
}

// publish returns when topic has the message, or with the class of the error.
func (c *conn) publish(ctx context.Context, topic string, m *pubsubpb.PubsubMessage) error {
	if err := checkLimits(m); err != nil {
		return err
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	answer, err := c.topics.Publish(ctx, &pubsubpb.PublishRequest{Topic: topic, Messages: []*pubsubpb.PubsubMessage{m}}, once)
	if err == nil && len(answer.GetMessageIds()) != 1 {
		return published(topic, broker.ErrUnknown)
	}
	return published(topic, err)
}
