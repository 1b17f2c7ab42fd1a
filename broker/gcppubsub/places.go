package gcppubsub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// shortRetention is what an operator is told of: messages go before anyone
	// may have looked.
	shortRetention = 24 * time.Hour

	// goneTopic is the topic of a subscription whose own was deleted.
	goneTopic = "_deleted-topic_"
)

// The kinds of our places, as in their labels.
const (
	kindParked = "parked"
	kindHold   = "hold"
	kindRetry  = "retry"
	kindBack   = "back"
)

// kinds are the places that the failure path of f needs.
func (f *found) kinds(rungs int) map[string]string {
	all := map[string]string{kindParked: parkedSuffix, kindHold: holdSuffix, kindBack: backSuffix}
	if rungs > 0 && !f.counted() {
		all[kindRetry] = retrySuffix
	}
	return all
}

// want is a subscription of ours as it is made.
func want(p place, kind string, f found, retention time.Duration) *pubsubpb.Subscription {
	sub := &pubsubpb.Subscription{
		Name: p.subscription(), Topic: p.topic(), Labels: map[string]string{label: kind},
		AckDeadlineSeconds: int32(placeDeadline / time.Second), MessageRetentionDuration: durationpb.New(retention),
		ExpirationPolicy: &pubsubpb.ExpirationPolicy{}, // without a time: it stays when nobody consumes it
	}
	if kind == kindBack {
		sub.AckDeadlineSeconds = int32(f.deadline / time.Second)
		sub.EnableMessageOrdering = f.ordering
		sub.DeadLetterPolicy = f.policy // what has come back is counted like the rest
	}
	return sub
}

// ensure makes what the failure path needs where it is missing, and refuses
// what is there and would lose copies. It returns warnings.
func (c *conn) ensure(ctx context.Context, n names, f found, kinds map[string]string, retention time.Duration) ([]string, error) {
	var warnings []string
	for kind, suffix := range kinds {
		text, err := c.ensurePlace(ctx, want(n.place(f.source, suffix), kind, f, retention))
		if err != nil {
			return nil, err
		}
		if text != "" {
			warnings = append(warnings, text)
		}
	}
	return warnings, nil
}

func (c *conn) ensurePlace(ctx context.Context, want *pubsubpb.Subscription) (warning string, err error) {
	have, err := c.subscription(ctx, want.GetName())
	if err == nil && have.GetTopic() != goneTopic {
		if have.GetLabels()[label] == kindBack {
			have, err = c.align(ctx, have, want)
		}
		if err != nil {
			return "", err
		}
		return keeps(have, want)
	}
	if err != nil && !errors.Is(err, broker.ErrMissing) {
		return "", err
	}
	if have != nil {
		return "", fmt.Errorf("gcppubsub: the topic of subscription %s was deleted: %w; delete the subscription once it is empty, and it is made again", want.GetName(), broker.ErrMismatch)
	}
	if err := c.makeTopic(ctx, want.GetTopic()); err != nil {
		return "", err
	}
	return "", c.makeSubscription(ctx, want)
}

func (c *conn) makeTopic(ctx context.Context, topic string) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	_, err := c.topics.CreateTopic(ctx, &pubsubpb.Topic{Name: topic, Labels: map[string]string{label: ""}}, once)
	if code(err) == codes.AlreadyExists {
		return nil
	}
	return classify("make topic "+topic, "pubsub.topics.create", err)
}

func (c *conn) makeSubscription(ctx context.Context, want *pubsubpb.Subscription) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	_, err := c.subs.CreateSubscription(ctx, want, once)
	if code(err) == codes.AlreadyExists { // made by somebody else meanwhile
		return nil
	}
	return classify("make subscription "+want.GetName(), "pubsub.subscriptions.create and pubsub.topics.attachSubscription", err)
}

// align gives what has come back the dead-letter policy of its source, which
// its owner may have changed since: both are counted alike, or neither is.
func (c *conn) align(ctx context.Context, have, want *pubsubpb.Subscription) (*pubsubpb.Subscription, error) {
	if proto.Equal(have.GetDeadLetterPolicy(), want.GetDeadLetterPolicy()) && have.GetAckDeadlineSeconds() == want.GetAckDeadlineSeconds() {
		return have, nil
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	changed, err := c.subs.UpdateSubscription(ctx, &pubsubpb.UpdateSubscriptionRequest{
		Subscription: want, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"dead_letter_policy", "ack_deadline_seconds"}},
	}, once)
	return changed, classify("change subscription "+want.GetName(), "pubsub.subscriptions.update", err)
}

// keeps refuses a subscription of ours that somebody has set up so that it
// loses copies, and tells of what may lose them.
func keeps(have, want *pubsubpb.Subscription) (warning string, err error) {
	refuse := func(what string) (string, error) {
		return "", fmt.Errorf("gcppubsub: subscription %s %s: %w; mend it, or let Holdfast make it anew under another Config.Namespace",
			have.GetName(), what, broker.ErrMismatch)
	}
	switch {
	case have.GetTopic() != want.GetTopic():
		return refuse("belongs to topic " + have.GetTopic() + " and not to " + want.GetTopic())
	case have.GetPushConfig().GetPushEndpoint() != "" || have.GetDetached():
		return refuse("is no pull subscription")
	case have.GetFilter() != "":
		return refuse("has a filter, which drops copies")
	case have.GetEnableMessageOrdering() != want.GetEnableMessageOrdering():
		return refuse("has not the message ordering of its source")
	case !proto.Equal(have.GetDeadLetterPolicy(), want.GetDeadLetterPolicy()):
		return refuse("has a dead-letter policy of its own, which takes copies away")
	}
	if kept := have.GetMessageRetentionDuration().AsDuration(); kept > 0 && kept < shortRetention {
		return fmt.Sprintf("subscription %s drops messages after %v: raise its message retention", have.GetName(), kept), nil
	}
	return "", nil
}
