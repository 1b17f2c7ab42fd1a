package awssqs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/awssqs"
)

func survey(t *testing.T, b broker.Broker, queue string) broker.SourceSurvey {
	t.Helper()
	v, err := b.(broker.Surveyor).Survey(t.Context(), []string{queue})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Sources) != 1 || v.Sources[0].Queue != queue || v.Product != "Amazon SQS" {
		t.Fatalf("the survey is %+v", v)
	}
	return v.Sources[0]
}

// set changes attributes of a queue, as an operator does.
func (s *service) set(t *testing.T, queue string, a map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callTakes)
	defer cancel()
	at, err := s.plain.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &queue})
	if err == nil {
		_, err = s.plain.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: at.QueueUrl, Attributes: a})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestASurveyTellsNumbersAndWhatItCannotKnow(t *testing.T) {
	t.Parallel()
	s := kumoService(t)
	queue := s.newQueue(t)
	b := openWith(t, s.url, unchanged)
	if before := survey(t, b, queue); before.Err != nil || len(before.Unknown) != 1 || before.ParkedErr != nil {
		t.Errorf("its places are missing, which the first session mends: %+v", before)
	}
	attach(t, b, broker.Subscription{Queue: queue, Hold: time.Hour})
	s.publish(t, queue, &broker.Message{Body: []byte("one")})
	s.publish(t, queue+parkedSuffix, &broker.Message{Body: []byte("parked")})
	seen := survey(t, b, queue)
	if seen.Err != nil || seen.Ready != 1 || seen.Parked != 1 || seen.Consumers != -1 || seen.Retention != 4*24*time.Hour ||
		seen.ParkedRetention != 14*24*time.Hour || seen.NativeLimit != 0 || len(seen.Unknown) != 1 {
		t.Errorf("the survey is %+v", seen)
	}
}

func TestASurveyNamesAQueueThatIsMissing(t *testing.T) {
	t.Parallel()
	b := openWith(t, kumoURL(t), unchanged)
	seen := survey(t, b, "nobody-made-it")
	if !errors.Is(seen.Err, broker.ErrMissing) {
		t.Errorf("the survey is %+v", seen)
	}
}

func TestASurveyFollowsTheRedrivePolicy(t *testing.T) {
	t.Parallel()
	s := kumoService(t)
	b := openWith(t, s.url, unchanged)
	queue, dead := s.newName(), s.newName()
	s.create(t, dead, map[string]string{"MessageRetentionPeriod": "1209600"})
	policy := func(limit int) map[string]string {
		return map[string]string{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"%d"}`, s.arn(t, dead), limit)}
	}
	s.create(t, queue, policy(100))
	t.Cleanup(func() { s.deleteQueue(t, queue) })
	seen := survey(t, b, queue)
	if seen.NativeLimit != 100 || seen.Dead != dead || seen.DeadErr != nil || len(seen.DeadBounds) > 0 {
		t.Errorf("the survey is %+v", seen)
	}

	s.set(t, dead, map[string]string{"MessageRetentionPeriod": "345600"}) // no longer than the source's
	seen = survey(t, b, queue)
	if len(seen.DeadBounds) != 1 || !strings.Contains(seen.DeadBounds[0], dead) {
		t.Errorf("the survey is %+v", seen)
	}

	s.deleteQueue(t, dead)
	seen = survey(t, b, queue)
	if !errors.Is(seen.DeadErr, broker.ErrMissing) {
		t.Errorf("the survey is %+v", seen)
	}
}

func TestASurveyTellsOfPlacesThatLoseCopies(t *testing.T) {
	t.Parallel()
	s := kumoService(t)
	queue := s.newQueue(t)
	b := openWith(t, s.url, unchanged)
	attach(t, b, broker.Subscription{Queue: queue, Hold: time.Hour})
	s.set(t, queue+parkedSuffix, map[string]string{"MessageRetentionPeriod": "3600"})
	seen := survey(t, b, queue)
	if len(seen.ParkedBounds) != 1 || seen.ParkedRetention != time.Hour {
		t.Errorf("the survey is %+v", seen)
	}
	s.set(t, queue+parkedSuffix, map[string]string{"MessageRetentionPeriod": "1209600", "MaximumMessageSize": "1024"})
	seen = survey(t, b, queue)
	if !errors.Is(seen.ParkedErr, broker.ErrMismatch) {
		t.Errorf("the survey is %+v", seen)
	}
}

func TestASurveyThatMayNotLook(t *testing.T) {
	t.Parallel()
	s := kumoService(t)
	queue := s.newQueue(t)
	seen := survey(t, openWith(t, s.url, with(denying{"GetQueueAttributes": true})), queue)
	if !errors.Is(seen.Err, broker.ErrPermission) {
		t.Errorf("the survey is %+v", seen)
	}
	if _, err := openWith(t, "http://127.0.0.1:1", unchanged).(broker.Surveyor).Survey(t.Context(), []string{queue}); !errors.Is(err, broker.ErrUnreachable) {
		t.Errorf("the error is %v", err)
	}
}

func unchanged(*awssqs.Config) {}
