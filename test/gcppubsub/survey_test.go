package gcppubsub

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/doctor"
)

func (s *station) survey(t *testing.T, queue string) (broker.Survey, broker.SourceSurvey) {
	t.Helper()
	b := s.open(t)
	defer b.Close()
	v, err := b.(broker.Surveyor).Survey(ctx(t), []string{queue})
	must(t, err)
	if len(v.Sources) != 1 || v.Sources[0].Queue != queue || v.Product != "Google Cloud Pub/Sub" {
		t.Fatalf("the survey is %+v", v)
	}
	return v, v.Sources[0]
}

func wantFindings(t *testing.T, v broker.Survey, ids ...string) {
	t.Helper()
	var found []string
	for _, one := range doctor.Examine(&doctor.Facts{Now: time.Now(), Broker: &doctor.BrokerFacts{Product: v.Product, Survey: v}}).Findings {
		found = append(found, one.ID)
	}
	if !slices.Equal(found, ids) {
		t.Errorf("the doctor finds %q, want %q, in %+v", found, ids, v)
	}
}

func TestSurvey_tells_numbers_and_what_it_cannot_know(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	queue := s.newLimitedQueue(t, 50)
	v, seen := s.survey(t, queue) // its places are missing, which the first session mends
	if seen.Err != nil || seen.NativeLimit != 50 || seen.Dead != "dead" || seen.DeadErr != nil || seen.Consumers != -1 || len(seen.Unknown) != 2 {
		t.Errorf("the survey is %+v", seen)
	}
	wantFindings(t, v)
	s.sit(t, queue, nil)
	s.publish(t, queue+"-parked", &broker.Message{Body: []byte("parked")})
	v, seen = s.survey(t, queue)
	if seen.Parked != 1 || seen.ParkedRetention != 7*24*time.Hour || seen.ParkedErr != nil {
		t.Errorf("the survey is %+v", seen)
	}
	wantFindings(t, v)
}

func TestSurvey_names_what_is_missing_or_cannot_be_pulled(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	v, seen := s.survey(t, "nobody-made-it")
	if !errors.Is(seen.Err, broker.ErrMissing) {
		t.Errorf("the survey is %+v", seen)
	}
	wantFindings(t, v, "HF120")
	_, seen = s.survey(t, s.declare(t, "pushed", func(sub *pubsubpb.Subscription) {
		sub.PushConfig = &pubsubpb.PushConfig{PushEndpoint: "https://example.com"}
	}))
	if !errors.Is(seen.Err, broker.ErrMismatch) {
		t.Errorf("the survey is %+v", seen)
	}
}

func TestSurvey_follows_the_dead_letter_policy(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	c, cancel := bounded()
	defer cancel()
	_, err := s.topics.CreateTopic(c, &pubsubpb.Topic{Name: topicName("hole")})
	must(t, err)
	queue := s.declare(t, "leaking", func(sub *pubsubpb.Subscription) {
		sub.DeadLetterPolicy = &pubsubpb.DeadLetterPolicy{DeadLetterTopic: topicName("hole"), MaxDeliveryAttempts: 50}
	})
	v, seen := s.survey(t, queue)
	if !errors.Is(seen.DeadErr, broker.ErrUnrouted) || !strings.Contains(seen.DeadErr.Error(), "gcloud pubsub subscriptions create") {
		t.Errorf("the survey is %+v", seen)
	}
	wantFindings(t, v, "HF122")
	gone := newStation(t, counting, on("ListTopicSubscriptions", func(any) error { return status.Error(codes.NotFound, "gone") }))
	v, seen = gone.survey(t, gone.newLimitedQueue(t, 50))
	if !errors.Is(seen.DeadErr, broker.ErrMissing) {
		t.Errorf("the survey is %+v", seen)
	}
	wantFindings(t, v, "HF122")
	v, _ = s.survey(t, s.newLimitedQueue(t, 5))
	wantFindings(t, v, "HF124")
}

func TestSurvey_tells_of_places_that_lose_copies(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	queue := s.newLimitedQueue(t, 50)
	s.make(t, queue+"-parked", func(sub *pubsubpb.Subscription) {
		sub.MessageRetentionDuration = durationpb.New(time.Hour)
		sub.ExpirationPolicy = &pubsubpb.ExpirationPolicy{Ttl: durationpb.New(48 * time.Hour)}
	})
	v, seen := s.survey(t, queue)
	if len(seen.ParkedBounds) != 2 || seen.ParkedRetention != time.Hour {
		t.Errorf("the survey is %+v", seen)
	}
	wantFindings(t, v, "HF126")
	s.make(t, queue+"-hold", func(sub *pubsubpb.Subscription) { sub.Filter = `attributes:never` })
	v, seen = s.survey(t, queue)
	if !errors.Is(seen.ParkedErr, broker.ErrMismatch) {
		t.Errorf("the survey is %+v", seen)
	}
	wantFindings(t, v, "HF125", "HF126")
}

func TestSurvey_tells_of_a_source_that_ends(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	queue := s.declare(t, "ending", func(sub *pubsubpb.Subscription) {
		sub.DeadLetterPolicy.MaxDeliveryAttempts = 50
		sub.ExpirationPolicy = &pubsubpb.ExpirationPolicy{Ttl: durationpb.New(48 * time.Hour)}
	})
	v, _ := s.survey(t, queue)
	wantFindings(t, v, "HF133")
	c, cancel := bounded()
	defer cancel()
	must(t, s.topics.DeleteTopic(c, &pubsubpb.DeleteTopicRequest{Topic: topicName(queue)}))
	v, _ = s.survey(t, queue)
	wantFindings(t, v, "HF129", "HF133")
}

func TestSurvey_that_may_not_look(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting, on("GetSubscription", func(any) error { return status.Error(codes.PermissionDenied, "no") }))
	v, seen := s.survey(t, s.newLimitedQueue(t, 50))
	if !errors.Is(seen.Err, broker.ErrPermission) {
		t.Errorf("the survey is %+v", seen)
	}
	wantFindings(t, v, "HF120")
}
