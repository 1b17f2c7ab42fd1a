package awssqs

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/awssqs"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

const rung = 100 * time.Millisecond

func (s *service) publishTo(t *testing.T, queue, group string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if err := s.sender.Publish(t.Context(), broker.Target{Queue: queue, Key: group}, &broker.Message{Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
}

func wants(t *testing.T, d broker.Delivery, body string, attempt int) {
	t.Helper()
	if m := d.Message(); string(m.Body) != body || attempt > 0 && m.Attempt != attempt {
		t.Errorf("%q came as attempt %d, not %q as attempt %d", m.Body, m.Attempt, body, attempt)
	}
}

func receivesNothing(t *testing.T, session broker.Session, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if d, err := session.Receive(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("received %v, %v", d, err)
	}
}

// TestAGroupKeepsItsOrderAroundAFailure has three messages of one group of
// which the first fails, and one of another group, which waits for nobody.
func TestAGroupKeepsItsOrderAroundAFailure(t *testing.T) {
	t.Parallel()
	s := newService(t, elasticMQ(t).url, true)
	for _, batch := range []int{1, 10} {
		t.Run(fmt.Sprintf("received_by_%d", batch), func(t *testing.T) {
			t.Parallel()
			queue := s.newQueue(t)
			b := openWith(t, s.url, func(c *awssqs.Config) { c.GroupBatch = batch })
			s.publishTo(t, queue, "a", "a1", "a2", "a3")
			s.publishTo(t, queue, "b", "b1")
			session := attach(t, b, broker.Subscription{Queue: queue, Rungs: []time.Duration{rung}, Hold: time.Hour})
			consume(t, session, 10)
			first, other := receive(t, session), receive(t, session)
			wants(t, first, "a1", 1)
			wants(t, other, "b1", 1)
			receivesNothing(t, session, 2*rung)
			settle(t, other, broker.Settlement{Fate: broker.FateDone})
			settle(t, first, broker.Settlement{Fate: broker.FateDelay, Delay: rung, Capture: failed(queue)})
			again := receive(t, session)
			wants(t, again, "a1", 2)
			receivesNothing(t, session, 2*rung)
			settle(t, again, broker.Settlement{Fate: broker.FatePark, Capture: failed(queue)})
			second := receive(t, session)
			wants(t, second, "a2", 0)
			if batch == 1 && second.Message().Attempt != 1 {
				t.Errorf("who waited behind a failure is charged: attempt %d", second.Message().Attempt)
			}
			settle(t, second, broker.Settlement{Fate: broker.FateDone})
			third := receive(t, session)
			wants(t, third, "a3", 0)
			settle(t, third, broker.Settlement{Fate: broker.FateDone})
		})
	}
}

// TestManyOfOneGroupCanBeLookedAt parks more of a group than SQS shows at once,
// and replays them: they keep their group, and no deduplication swallows one.
func TestManyOfOneGroupCanBeLookedAt(t *testing.T) {
	t.Parallel()
	const n = 15
	s := newService(t, elasticMQ(t).url, true)
	queue := s.newQueue(t)
	b := openWith(t, s.url, nil)
	for i := range n {
		s.publishTo(t, queue, "a", fmt.Sprintf("m-%02d", i))
	}
	session := attach(t, b, broker.Subscription{Queue: queue, Hold: time.Hour})
	consume(t, session, 1)
	for range n {
		settle(t, receive(t, session), broker.Settlement{Fate: broker.FatePark, Capture: failed(queue)})
	}
	if err := session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	sifter := b.(broker.Sifter)
	sifted, err := sifter.Sift(t.Context(), queue, broker.SiftOptions{}, keep)
	if err != nil || sifted.Seen != 0 {
		t.Errorf("the source: %+v, %v", sifted, err)
	}
	parked := beside(parkedSuffix)(queue)
	if sifted, err = sifter.Sift(t.Context(), parked, broker.SiftOptions{}, keep); err != nil || sifted.Kept != n {
		t.Errorf("looking: %+v, %v", sifted, err)
	}
	sifted, err = sifter.Sift(t.Context(), parked, broker.SiftOptions{}, func(context.Context, *broker.Stored) (broker.Action, error) {
		return broker.Action{Verb: broker.VerbCopy, Target: broker.Target{Queue: queue}, Fresh: true}, nil
	})
	if err != nil || sifted.Copied != n {
		t.Errorf("the replay: %+v, %v", sifted, err)
	}
	second := attach(t, b, broker.Subscription{Queue: queue, Hold: time.Hour})
	consume(t, second, 1)
	for range n {
		d := receive(t, second)
		if key := d.Message().Origin.Key; key != "a" {
			t.Errorf("%q came back in group %q", d.Message().Body, key)
		}
		settle(t, d, broker.Settlement{Fate: broker.FateDone})
	}
}

func keep(context.Context, *broker.Stored) (broker.Action, error) { return broker.Action{}, nil }

func TestALeaseIsKeptWhileAHandlerRuns(t *testing.T) {
	t.Parallel()
	s := newService(t, elasticMQ(t).url, false)
	queue := s.newQueue(t)
	s.publishTo(t, queue, "", "runs", "unread")
	session := attach(t, openWith(t, s.url, nil), broker.Subscription{Queue: queue, Hold: time.Hour})
	consume(t, session, 2)
	runs := receive(t, session)
	other := attach(t, openWith(t, s.url, nil), broker.Subscription{Queue: queue, Hold: time.Hour})
	consume(t, other, 2)
	receivesNothing(t, other, 3*lease)
	settle(t, runs, broker.Settlement{Fate: broker.FateDone})
	settle(t, receive(t, session), broker.Settlement{Fate: broker.FateDone})
}

func TestARedrivePolicyIsSeenAndItsMovesAreRecognised(t *testing.T) {
	t.Parallel()
	s := newService(t, elasticMQ(t).url, false)
	dead, source := s.newQueue(t), fmt.Sprintf("source-%d", s.names.Add(1))
	s.create(t, source, map[string]string{
		"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"2"}`, s.arn(t, dead)),
	})
	t.Cleanup(func() { s.deleteQueue(t, source) })
	b := openWith(t, s.url, nil)
	session := attach(t, b, broker.Subscription{Queue: source, Hold: time.Hour})
	if limit := session.Capabilities().NativeLimit; limit != 2 {
		t.Errorf("the limit is %d, not 2", limit)
	}
	s.publishTo(t, source, "", "a")
	consume(t, session, 1)
	for attempt := range 2 {
		d := receive(t, session)
		wants(t, d, "a", attempt+1)
		settle(t, d, broker.Settlement{Fate: broker.FateRelease})
	}
	sifter := b.(broker.Sifter)
	testenv.Eventually(t, callTakes, "it is moved", func() bool {
		depth, err := sifter.Depth(t.Context(), dead)
		return err == nil && depth.Messages == 1
	})
	_, err := sifter.Sift(t.Context(), dead, broker.SiftOptions{}, func(_ context.Context, m *broker.Stored) (broker.Action, error) {
		if m.Capture != nil || m.CaptureErr != nil {
			t.Errorf("what the broker moved has the capture %+v, %v", m.Capture, m.CaptureErr)
		}
		return broker.Action{Verb: broker.VerbDrop}, nil
	})
	if err != nil {
		t.Error(err)
	}
}
