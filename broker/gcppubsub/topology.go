package gcppubsub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// placeDeadline is how long a message of ours stays with a process that is
	// gone: the shortest that Pub/Sub allows.
	placeDeadline = 10 * time.Second

	// label marks a subscription as one of ours and says which.
	label = "holdfast"
)

// found is what a session must know of its source.
type found struct {
	source
	topic    string // its full name; empty where it may not be read
	deadline time.Duration
	ordering bool
	policy   *pubsubpb.DeadLetterPolicy
	warnings []string
}

// counted reports whether Pub/Sub counts the deliveries of a message.
func (f *found) counted() bool { return f.policy != nil }

func (f *found) warn(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

// find reads the source and refuses one that cannot be consumed. It changes
// nothing. Without the permission to read it, it is consumed as one without a
// dead-letter policy, since nothing can be known of its count.
func (c *conn) find(ctx context.Context, s source) (found, error) {
	f := found{source: s, deadline: placeDeadline}
	sub, err := c.subscription(ctx, s.path)
	switch {
	case errors.Is(err, broker.ErrPermission):
		f.warn("subscription %s cannot be read, so that its dead-letter policy, ordering and ack deadline are not known and it is treated as one without: "+
			"grant pubsub.subscriptions.get (GetSubscription answered PermissionDenied)", s.queue)
		return f, nil
	case errors.Is(err, broker.ErrMissing):
		return f, fmt.Errorf("%w; its owner makes it, as with: gcloud pubsub subscriptions create %s --topic TOPIC", err, s.queue)
	case err != nil:
		return f, err
	}
	if err := usable(s, sub); err != nil {
		return f, err
	}
	f.describe(sub)
	if wait := sub.GetRetryPolicy().GetMinimumBackoff().AsDuration(); wait > 0 {
		f.warn("subscription %s has a retry policy with a back-off of %v and more: Pub/Sub adds it to every rung and every release", s.queue, wait)
	}
	c.checkDeadLetters(ctx, &f)
	return f, nil
}

func (f *found) describe(sub *pubsubpb.Subscription) {
	f.topic, f.ordering = sub.GetTopic(), sub.GetEnableMessageOrdering()
	f.deadline = cmp.Or(time.Duration(sub.GetAckDeadlineSeconds())*time.Second, placeDeadline)
	f.policy = sub.GetDeadLetterPolicy()
}

func (c *conn) subscription(ctx context.Context, path string) (*pubsubpb.Subscription, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	sub, err := c.subs.GetSubscription(ctx, &pubsubpb.GetSubscriptionRequest{Subscription: path}, once)
	return sub, classify("subscription "+path, "pubsub.subscriptions.get", err)
}

// usable refuses what cannot be pulled or has no messages to come.
func usable(s source, sub *pubsubpb.Subscription) error {
	refuse := func(what string) error {
		return fmt.Errorf("gcppubsub: subscription %s %s: %w", s.queue, what, broker.ErrMismatch)
	}
	switch {
	case sub.GetPushConfig().GetPushEndpoint() != "":
		return refuse("is a push subscription; make a pull subscription")
	case sub.GetBigqueryConfig() != nil || sub.GetCloudStorageConfig() != nil:
		return refuse("exports its messages and cannot be pulled; make a pull subscription")
	case sub.GetDetached():
		return refuse("is detached from its topic; make it again")
	}
	return nil
}

// checkDeadLetters warns of a dead-letter topic that keeps nothing: a topic
// without a subscription drops what it is given.
func (c *conn) checkDeadLetters(ctx context.Context, f *found) {
	topic := f.policy.GetDeadLetterTopic()
	if topic == "" {
		return
	}
	err := c.subscribed(ctx, topic)
	switch {
	case err == nil:
	case code(err) == codes.PermissionDenied || code(err) == codes.Unimplemented || code(err) == codes.Unauthenticated:
		f.warn("it cannot be seen whether anybody subscribes to the dead-letter topic %s, without which Pub/Sub drops what it moves there: "+
			"grant pubsub.topics.get (ListTopicSubscriptions answered %v)", topic, code(err))
	case code(err) == codes.NotFound:
		f.warn("the dead-letter topic %s of subscription %s does not exist: Pub/Sub cannot move anything there", topic, f.queue)
	case errors.Is(err, iterator.Done):
		f.warn("the dead-letter topic %s has no subscription, so that Pub/Sub drops what it moves there after %d deliveries; "+
			"make one: gcloud pubsub subscriptions create NAME --topic %s", topic, f.policy.GetMaxDeliveryAttempts(), topic)
	}
}

// subscribed returns nil where a topic has a subscription, [iterator.Done] where
// it has none, and else why it cannot be seen.
func (c *conn) subscribed(ctx context.Context, topic string) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	_, err := c.topics.ListTopicSubscriptions(ctx, &pubsubpb.ListTopicSubscriptionsRequest{Topic: topic, PageSize: 1}, once).Next()
	return err
}
