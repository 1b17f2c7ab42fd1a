package gcppubsub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"

	"github.com/holdfast-mq/holdfast/broker"
)

var _ broker.Surveyor = (*Broker)(nil)

// survey is one look at a project.
type survey struct {
	broker *Broker
	conn   *conn
	found  broker.Survey
}

// Survey implements [broker.Surveyor]. It reads how subscriptions are set up and
// pulls nothing, since a pull counts. How much waits is told by Config.Backlog,
// or not at all.
func (b *Broker) Survey(ctx context.Context, queues []string) (broker.Survey, error) {
	c, err := b.connection(ctx)
	if err != nil {
		return broker.Survey{}, err
	}
	v := &survey{broker: b, conn: c}
	v.found.Product = "Google Cloud Pub/Sub"
	for _, queue := range queues {
		s := broker.SourceSurvey{Queue: queue, Consumers: -1}
		s.Err = v.source(ctx, &s)
		if isAny(s.Err, broker.ErrUnreachable, broker.ErrCredentials, broker.ErrClosed) {
			return broker.Survey{}, s.Err
		}
		v.found.Sources = append(v.found.Sources, s)
	}
	return v.found, ctx.Err()
}

func (v *survey) source(ctx context.Context, s *broker.SourceSurvey) error {
	src, err := v.broker.names.source(s.Queue)
	if err != nil {
		return err
	}
	sub, err := v.conn.subscription(ctx, src.path)
	if err != nil {
		return err
	}
	if err := usable(src, sub); err != nil {
		return err
	}
	f := found{source: src}
	f.describe(sub)
	s.Retention = sub.GetMessageRetentionDuration().AsDuration()
	s.Expires = sub.GetExpirationPolicy().GetTtl().AsDuration()
	if f.topic == goneTopic {
		s.Stopped = "cut off from its topic, which was deleted: nothing new comes"
	}
	s.Unknown = append(s.Unknown, "how old the oldest message is: Pub/Sub tells it to Cloud Monitoring only, as oldest_unacked_message_age")
	if v.broker.conf.Backlog == nil {
		s.Unknown = append(s.Unknown, "how many messages wait or are parked: give Config.Backlog, or look at num_undelivered_messages in Cloud Monitoring")
	}
	s.Ready = v.waiting(ctx, s, src.path)
	v.deadLetters(ctx, s, f)
	return v.places(ctx, s, f)
}

// waiting counts what waits in a subscription, where that can be known.
func (v *survey) waiting(ctx context.Context, s *broker.SourceSurvey, path string) int {
	if v.broker.conf.Backlog == nil {
		return 0
	}
	depth, err := v.broker.conf.Backlog(ctx, path)
	if err != nil {
		s.Unknown = append(s.Unknown, "how many messages wait in "+path+": "+err.Error())
	}
	return depth.Messages
}

// deadLetters looks at where the dead-letter policy of a source leads.
func (v *survey) deadLetters(ctx context.Context, s *broker.SourceSurvey, f found) {
	topic := f.policy.GetDeadLetterTopic()
	if topic == "" {
		return
	}
	s.NativeLimit, s.Dead = int(f.policy.GetMaxDeliveryAttempts()), v.broker.names.shortTopic(topic)
	err := v.conn.subscribed(ctx, topic)
	switch {
	case err == nil:
	case errors.Is(err, iterator.Done):
		s.DeadErr = fmt.Errorf("gcppubsub: topic %s has no subscription and drops what it is given: %w; make one: gcloud pubsub subscriptions create NAME --topic %s", topic, broker.ErrUnrouted, topic)
	case code(err) == codes.NotFound:
		s.DeadErr = fmt.Errorf("gcppubsub: topic %s does not exist, and Pub/Sub cannot move anything there: %w", topic, broker.ErrMissing)
	default:
		s.Unknown = append(s.Unknown, "whether anybody subscribes to "+topic+": "+classify("dead-letter topic", "pubsub.topics.get", err).Error())
	}
	s.Unknown = append(s.Unknown, "whether the project's service agent may publish to "+topic+" and acknowledge here, without which nothing is moved: "+
		"gcloud pubsub topics get-iam-policy "+s.Dead)
}

// places looks at what is beside a source. A place that is missing is made by
// the first session.
func (v *survey) places(ctx context.Context, s *broker.SourceSurvey, f found) error {
	kinds := f.kinds(1)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		at := v.broker.names.place(f.source, kinds[kind])
		have, err := v.conn.subscription(ctx, at.subscription())
		switch {
		case errors.Is(err, broker.ErrMissing):
			continue
		case errors.Is(err, broker.ErrPermission):
			s.Unknown = append(s.Unknown, "what becomes of copies in "+at.id+": "+err.Error())
			continue
		case err != nil:
			return err
		}
		v.place(ctx, s, have, want(at, kind, f, v.broker.conf.Retention))
	}
	return nil
}

// place looks at one. The dead-letter policy of what has come back is brought
// in line by the next session, and so no fault.
func (v *survey) place(ctx context.Context, s *broker.SourceSurvey, have, want *pubsubpb.Subscription) {
	kind := want.GetLabels()[label]
	if kind == kindBack {
		want.DeadLetterPolicy = have.GetDeadLetterPolicy()
		s.Ready += v.waiting(ctx, s, have.GetName())
	}
	text, err := keeps(have, want)
	if err != nil {
		s.ParkedErr = errors.Join(s.ParkedErr, err)
	}
	if text != "" {
		s.ParkedBounds = append(s.ParkedBounds, text)
	}
	if ttl := have.GetExpirationPolicy().GetTtl().AsDuration(); ttl > 0 {
		s.ParkedBounds = append(s.ParkedBounds, expires(have, ttl))
	}
	if kind == kindParked {
		s.ParkedRetention = have.GetMessageRetentionDuration().AsDuration()
		s.Parked = v.waiting(ctx, s, have.GetName())
	}
}

func expires(have *pubsubpb.Subscription, ttl time.Duration) string {
	return fmt.Sprintf("subscription %s is deleted when nobody has looked into it for %v: take its expiration off", have.GetName(), ttl)
}
