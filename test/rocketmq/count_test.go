package rocketmq

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rocketmq"
)

// TestCount proves that attempts are counted by the broker and by nobody else:
// each delivery is to a client that has seen none before, and each ends in
// another way.
func TestCount(t *testing.T) {
	s := newScene(t, Start(t))
	queue := s.newQueue(t)
	s.publish(t, queue, &broker.Message{Body: []byte("a")})
	for attempt, end := range []func(broker.Broker, broker.Session, broker.Delivery){
		0: func(_ broker.Broker, _ broker.Session, d broker.Delivery) { // a rung
			settle(t, d, broker.Settlement{Fate: broker.FateDelay, Delay: rung, Capture: capture(queue)})
		},
		1: func(_ broker.Broker, _ broker.Session, d broker.Delivery) { // given back
			settle(t, d, broker.Settlement{Fate: broker.FateRelease})
		},
		2: func(_ broker.Broker, session broker.Session, _ broker.Delivery) { // a graceful stop
			if err := session.Close(t.Context()); err != nil {
				t.Error(err)
			}
		},
		3: func(b broker.Broker, session broker.Session, _ broker.Delivery) { // a kill: the lease ends
			s.cut(t, b)
			<-session.Done()
		},
		4: func(_ broker.Broker, _ broker.Session, d broker.Delivery) {
			settle(t, d, broker.Settlement{Fate: broker.FateDone})
		},
	} {
		b := s.open(t)
		session := consume(t, b, queue, 1)
		d := receive(t, session)
		m, f := d.Message(), d.Facts()
		if m.Attempt != attempt+1 || m.Redelivered != (attempt > 0) || f.Crashes != 0 || f.Capture != nil {
			t.Errorf("delivery %d is attempt %d, redelivered %v, %+v", attempt+1, m.Attempt, m.Redelivered, f)
		}
		end(b, session, d)
		closeBroker(t, b)
	}
}

// TestCount_of_competing_consumers: two consumers see one count, whoever of
// them has the message.
func TestCount_of_competing_consumers(t *testing.T) {
	s := newScene(t, Start(t))
	queue := s.newQueue(t)
	first, second := s.open(t), s.open(t)
	defer closeBroker(t, first)
	defer closeBroker(t, second)
	deliveries := make(chan broker.Delivery)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, session := range []broker.Session{consume(t, first, queue, 1), consume(t, second, queue, 1)} {
		go func() {
			for {
				d, err := session.Receive(ctx)
				if err != nil {
					return
				}
				deliveries <- d
			}
		}()
	}
	s.publish(t, queue, &broker.Message{Body: []byte("a")})
	var attempts []int
	for range 4 {
		d := <-deliveries
		attempts = append(attempts, d.Message().Attempt)
		settle(t, d, broker.Settlement{Fate: broker.FateDelay, Delay: rung, Capture: capture(queue)})
	}
	if !slices.Equal(attempts, []int{1, 2, 3, 4}) {
		t.Errorf("attempts %v", attempts)
	}
	settle(t, <-deliveries, broker.Settlement{Fate: broker.FateDone})
}

// TestNotBefore_is_waited_for: the capture of a retry is not kept, but the time
// before which the handler does not want the message is.
func TestNotBefore_is_waited_for(t *testing.T) {
	s := newScene(t, Start(t))
	queue := s.newQueue(t)
	b := s.open(t)
	defer closeBroker(t, b)
	session := consume(t, b, queue, 1)
	s.publish(t, queue, &broker.Message{Body: []byte("a")})
	d := receive(t, session)
	c := capture(queue)
	c.NotBefore = time.Now().Add(3 * time.Second)
	settle(t, d, broker.Settlement{Fate: broker.FateDelay, Delay: rung, Capture: c})
	d = receive(t, session)
	if now := time.Now(); now.Before(c.NotBefore) || d.Message().Attempt != 2 {
		t.Errorf("attempt %d came %v too early", d.Message().Attempt, c.NotBefore.Sub(now))
	}
	settle(t, d, broker.Settlement{Fate: broker.FateDone})
}

// TestLease_is_renewed: a handler may run for longer than the lease, and its
// message does not come a second time meanwhile.
func TestLease_is_renewed(t *testing.T) {
	s := newScene(t, Start(t))
	queue := s.newQueue(t)
	b, other := s.open(t), s.open(t)
	defer closeBroker(t, b)
	defer closeBroker(t, other)
	session := consume(t, b, queue, 1)
	s.publish(t, queue, &broker.Message{Body: []byte("a")})
	d := receive(t, session)
	watcher := consume(t, other, queue, 1)
	ctx, cancel := context.WithTimeout(t.Context(), lease+lease/2)
	defer cancel()
	if d, err := watcher.Receive(ctx); err == nil {
		t.Errorf("it came again, as attempt %d", d.Message().Attempt)
	}
	settle(t, d, broker.Settlement{Fate: broker.FateDone})
	ctx, cancel = context.WithTimeout(t.Context(), lease+lease/2)
	defer cancel()
	if d, err := watcher.Receive(ctx); err == nil {
		t.Errorf("it came again after it was done, as attempt %d", d.Message().Attempt)
	}
}

// TestDeadLetters: what another client of the group let the broker move away
// is recognised, and can be replayed.
func TestDeadLetters(t *testing.T) {
	s := newScene(t, Start(t))
	queue := s.newQueue(t)
	const group, place = "g1", "%DLQ%g1"
	s.do(t, "send as a client that gave up", func(p *plain) error {
		_, err := p.ask(askSend, fields{
			"producerGroup": "plain", "topic": "%RETRY%" + group, "defaultTopic": "TBW102", "defaultTopicQueueNums": "1", "queueId": "0",
			"sysFlag": "0", "bornTimestamp": "1", "flag": "0", "properties": "RETRY_TOPIC\x01T1\x02own\x01kept\x02", "reconsumeTimes": "17",
			"unitMode": "false", "batch": "false",
		}, []byte("dead"))
		return err
	})
	b := s.open(t)
	defer closeBroker(t, b)
	s.awaitRoute(t, place)
	sifted, err := b.(*rocketmq.Broker).Sift(t.Context(), place, broker.SiftOptions{}, func(_ context.Context, m *broker.Stored) (broker.Action, error) {
		if m.DeadLettered == "" || m.Capture != nil || m.Message.Origin.Exchange != "T1" || m.Message.Headers["own"] != "kept" {
			t.Errorf("%+v of %+v", m, m.Message)
		}
		return broker.Action{Verb: broker.VerbCopy, Target: broker.Target{Queue: queue}, Fresh: true}, nil
	})
	if err != nil || sifted.Copied != 1 {
		t.Fatalf("%+v, %v", sifted, err)
	}
	d := receive(t, consume(t, b, queue, 1))
	if m := d.Message(); string(m.Body) != "dead" || m.Attempt != 1 || m.Origin.Exchange != "T1" {
		t.Errorf("%+v", m)
	}
	settle(t, d, broker.Settlement{Fate: broker.FateDone})
	if depth, err := b.(*rocketmq.Broker).Depth(t.Context(), place); err != nil || depth.Messages != 0 {
		t.Errorf("%+v, %v", depth, err)
	}
}
