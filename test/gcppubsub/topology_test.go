package gcppubsub

import (
	"errors"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/holdfast-mq/holdfast/broker"
)

// declare makes a source that is not like the others of its station.
func (s *station) declare(t *testing.T, id string, change func(*pubsubpb.Subscription)) string {
	t.Helper()
	s.make(t, id, func(sub *pubsubpb.Subscription) {
		s.source(sub)
		change(sub)
	})
	return id
}

func TestOpen_finds_a_dead_letter_topic_that_keeps_nothing(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	c, cancel := bounded()
	defer cancel()
	_, err := s.topics.CreateTopic(c, &pubsubpb.Topic{Name: topicName("hole")})
	must(t, err)
	queue := s.declare(t, "leaking", func(sub *pubsubpb.Subscription) {
		sub.DeadLetterPolicy = &pubsubpb.DeadLetterPolicy{DeadLetterTopic: topicName("hole"), MaxDeliveryAttempts: 7}
	})
	at := s.sit(t, queue, nil)
	if n := at.warnings("hole", "no subscription", "7 deliveries"); n != 1 {
		t.Errorf("%d warnings: %+v", n, at.notices)
	}
	if limit := at.session.Capabilities().NativeLimit; limit != 7 {
		t.Errorf("the native limit is %d", limit)
	}
	if n := s.sit(t, s.newQueue(t), nil).warnings(""); n != 0 {
		t.Errorf("%d warnings of a topic with a subscription", n)
	}
}

func TestOpen_tells_of_a_back_off_that_is_added_to_every_rung(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	at := s.sit(t, s.declare(t, "slow", func(sub *pubsubpb.Subscription) {
		sub.RetryPolicy = &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(10 * time.Second)}
	}), nil)
	if n := at.warnings("retry policy", "10s"); n != 1 {
		t.Errorf("%d warnings: %+v", n, at.notices)
	}
}

func TestOpen_refuses_what_cannot_be_pulled(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	b := s.open(t)
	defer b.Close()
	queue := s.declare(t, "pushed", func(sub *pubsubpb.Subscription) {
		sub.PushConfig = &pubsubpb.PushConfig{PushEndpoint: "https://example.com"}
	})
	if _, err := b.Open(ctx(t), broker.Subscription{Queue: queue, Hold: time.Minute}); !errors.Is(err, broker.ErrMismatch) {
		t.Errorf("the error is %v", err)
	}
}

// Somebody made our place in a way that loses copies.
func TestOpen_refuses_a_place_that_drops_copies(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	queue := s.newQueue(t)
	s.make(t, queue+"-parked", func(sub *pubsubpb.Subscription) { sub.Filter = `attributes:never` })
	b := s.open(t)
	defer b.Close()
	if _, err := b.Open(ctx(t), broker.Subscription{Queue: queue, Hold: time.Minute}); !errors.Is(err, broker.ErrMismatch) {
		t.Errorf("the error is %v", err)
	}
}

func TestOpen_tells_of_a_place_that_forgets_soon(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	queue := s.newQueue(t)
	s.make(t, queue+"-parked", func(sub *pubsubpb.Subscription) { sub.MessageRetentionDuration = durationpb.New(time.Hour) })
	if at := s.sit(t, queue, nil); at.warnings("-parked", "1h0m0s") != 1 {
		t.Errorf("the notices are %+v", at.notices)
	}
}

// A topic without its subscription keeps nothing, and no publish says so.
func TestProbe_finds_that_a_place_is_gone(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	at := s.sit(t, s.newQueue(t), nil)
	must(t, at.session.Probe(ctx(t)))
	c, cancel := bounded()
	defer cancel()
	must(t, s.subs.DeleteSubscription(c, &pubsubpb.DeleteSubscriptionRequest{Subscription: subName(at.queue + "-parked")}))
	if err := at.session.Probe(ctx(t)); !errors.Is(err, broker.ErrDetached) {
		t.Errorf("the error is %v", err)
	}
}

// Without a policy nothing counts, and the source's owner is told what to type.
func TestOpen_says_that_no_budget_can_be_kept_without_a_policy(t *testing.T) {
	t.Parallel()
	s := newStation(t, kind{mode: counting.mode})
	caps := s.sit(t, s.newQueue(t), nil).session.Capabilities()
	if caps.Attempts || caps.Counts || !strings.Contains(caps.Unenforceable, "--dead-letter-topic") {
		t.Errorf("it declares %+v", caps)
	}
}

// The owner does what the warning says: the next session counts, also what
// comes back through a subscription that was made before.
func TestOpen_follows_a_policy_that_came_later(t *testing.T) {
	t.Parallel()
	s := newStation(t, kind{mode: counting.mode})
	queue := s.newQueue(t)
	must(t, s.sit(t, queue, nil).b.Close())
	sub := &pubsubpb.Subscription{Name: subName(queue)}
	(&station{kind: counting}).source(sub)
	c, cancel := bounded()
	defer cancel()
	_, err := s.subs.UpdateSubscription(c, &pubsubpb.UpdateSubscriptionRequest{
		Subscription: sub, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"dead_letter_policy"}},
	})
	must(t, err)
	at := s.sit(t, queue, nil)
	s.publish(t, queue, &broker.Message{Body: []byte("a")})
	must(t, settle(t, at.receive(), at.stamped(broker.FateHold, 1)))
	for attempt := 1; attempt <= 3; attempt++ {
		d := at.receive()
		if d.Message().Attempt != attempt || d.Facts().Capture == nil {
			t.Errorf("attempt %d, %+v", d.Message().Attempt, d.Facts())
		}
		must(t, settle(t, d, broker.Settlement{Fate: broker.FateRelease}))
	}
}
