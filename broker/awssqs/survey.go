package awssqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	attrARN     = string(types.QueueAttributeNameQueueArn)
	attrAllow   = string(types.QueueAttributeNameRedriveAllowPolicy)
	attrVisible = string(types.QueueAttributeNameApproximateNumberOfMessages)
	attrHidden  = string(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible)
	attrDelayed = string(types.QueueAttributeNameApproximateNumberOfMessagesDelayed)

	// mostHidden is how many messages of a queue SQS hands out at once, those
	// that wait for their next attempt included.
	mostHidden = 120_000
)

// ageUnknown is where to look instead: no call of SQS tells an age.
const ageUnknown = "SQS tells it to CloudWatch only, as ApproximateAgeOfOldestMessage"

var _ broker.Surveyor = (*Broker)(nil)

// Survey implements [broker.Surveyor]. It reads attributes and receives
// nothing, since a receive counts.
func (b *Broker) Survey(ctx context.Context, queues []string) (broker.Survey, error) {
	if err := b.live(); err != nil {
		return broker.Survey{}, err
	}
	v := broker.Survey{Product: "Amazon SQS"}
	for _, queue := range queues {
		s := broker.SourceSurvey{Queue: queue, Consumers: -1, Unknown: []string{"how old the oldest message is: " + ageUnknown}}
		s.Err = b.survey(ctx, &s)
		if errors.Is(s.Err, broker.ErrUnreachable) || errors.Is(s.Err, broker.ErrCredentials) {
			return broker.Survey{}, s.Err
		}
		v.Sources = append(v.Sources, s)
	}
	return v, ctx.Err()
}

func (b *Broker) survey(ctx context.Context, s *broker.SourceSurvey) error {
	if err := b.names.checkQueue(s.Queue); err != nil {
		return err
	}
	a, _, err := b.look(ctx, s.Queue)
	if err != nil {
		return err
	}
	s.Ready, s.Unsettled = int(number(a[attrVisible])+number(a[attrDelayed])), int(number(a[attrHidden]))
	s.Retention, s.Stopped = kept(a), handedOut(a)
	if s.NativeLimit = redriveLimit(a[attrRedrive]); s.NativeLimit > 0 {
		b.deadLetters(ctx, s, a)
	}
	return b.surveyPlaces(ctx, s)
}

func kept(a map[string]string) time.Duration {
	return time.Duration(number(a[attrRetention])) * time.Second
}

// handedOut is said of a queue that has handed out all it can.
func handedOut(a map[string]string) string {
	if number(a[attrHidden]) < mostHidden {
		return ""
	}
	return fmt.Sprintf("at the limit of %d messages that SQS hands out at once", mostHidden)
}

// deadLetters looks at where the redrive policy of a queue leads.
func (b *Broker) deadLetters(ctx context.Context, s *broker.SourceSurvey, source map[string]string) {
	arn := redriveTarget(source[attrRedrive])
	s.Dead = arn[strings.LastIndexByte(arn, ':')+1:]
	if !sameAccount(arn, source[attrARN]) {
		s.Unknown = append(s.Unknown, "whether its dead-letter queue "+arn+" is there: it is not of this account and region")
		return
	}
	a, _, err := b.look(ctx, s.Queue[:len(s.Queue)-len(nameOf(s.Queue))]+s.Dead)
	switch {
	case errors.Is(err, broker.ErrMissing):
		s.DeadErr = fmt.Errorf("%w: SQS keeps the messages in the queue, and delivers them until they expire; make it, or take the redrive policy off", err)
	case err != nil:
		s.Unknown = append(s.Unknown, "what its dead-letter queue does: "+err.Error())
	case !allows(a[attrAllow], source[attrARN]):
		s.DeadErr = fmt.Errorf("awssqs: queue %s does not take dead letters of %s, by its redrive allow policy: %w", s.Dead, nameOf(s.Queue), broker.ErrPermission)
	case kept(a) < longestKept*time.Second && !isFIFO(s.Queue) && kept(a) <= s.Retention:
		s.DeadBounds = append(s.DeadBounds, fmt.Sprintf("queue %s keeps messages for %v and counts from when they were first sent, which may be %v earlier: set %s=%d",
			s.Dead, kept(a), s.Retention, attrRetention, longestKept))
	}
}

// redriveTarget is the ARN of a policy's dead-letter queue.
func redriveTarget(policy string) string {
	var p struct {
		Target string `json:"deadLetterTargetArn"`
	}
	_ = json.Unmarshal([]byte(policy), &p) // its limit was read from it
	return p.Target
}

// sameAccount reports whether two queues are of one region and account, so
// that the name of one says which it is.
func sameAccount(one, other string) bool {
	return one[:strings.LastIndexByte(one, ':')+1] == other[:strings.LastIndexByte(other, ':')+1]
}

// allows reports whether a redrive allow policy lets a source move messages
// in. Without one every queue may.
func allows(policy, source string) bool {
	var p struct {
		Permission string   `json:"redrivePermission"`
		Sources    []string `json:"sourceQueueArns"`
	}
	_ = json.Unmarshal([]byte(policy), &p)
	switch p.Permission {
	case "denyAll":
		return false
	case "byQueue":
		return slices.Contains(p.Sources, source)
	}
	return true
}

// surveyPlaces looks at the queues beside a source. One that is missing is
// made by the first session.
func (b *Broker) surveyPlaces(ctx context.Context, s *broker.SourceSurvey) error {
	parked := b.names.parkedOf(s.Queue)
	for _, place := range []string{parked, b.names.holdOf(s.Queue)} {
		a, _, err := b.look(ctx, place)
		switch {
		case errors.Is(err, broker.ErrMissing):
			continue
		case errors.Is(err, broker.ErrPermission):
			s.Unknown = append(s.Unknown, "what is in "+nameOf(place)+": "+err.Error())
			continue
		case err != nil:
			return err
		}
		s.ParkedBounds = append(s.ParkedBounds, removals(nameOf(place), a)...)
		if text := tooSmall(nameOf(place), a); text != "" {
			s.ParkedErr = errors.Join(s.ParkedErr, fmt.Errorf("awssqs: %s: %w", text, broker.ErrMismatch))
		}
		if place == parked {
			s.Parked = int(number(a[attrVisible]) + number(a[attrDelayed]) + number(a[attrHidden]))
			s.ParkedRetention = kept(a)
		}
	}
	return nil
}
