package rabbitmq_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

func resume(context.Context, *broker.Stored) (broker.Action, error) {
	return broker.Action{Verb: broker.VerbCopy, Target: broker.Target{Queue: "orders"}}, nil
}

func TestReplies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", quorum)
		p.declare("answers", nil)
		told := &notices{}
		b := p.open()
		s := p.session(b, broker.Subscription{Queue: "orders", Replies: true, Notify: told.add})
		p.consume(s, 1)
		answer := &broker.Reply{Body: []byte("42"), ContentType: "text/plain", Type: "answer", Headers: map[string]any{"n": 1}}
		for _, to := range []string{"answers", "gone"} {
			p.publish("", "orders", amqp.Publishing{Body: []byte("?"), ReplyTo: to, CorrelationId: "c1"})
			p.mustSettle(p.receive(s), broker.Settlement{Fate: broker.FateDone, Reply: answer})
		}
		got := p.get("answers")
		if string(got.Body) != "42" || got.CorrelationId != "c1" || got.ContentType != "text/plain" || got.Type != "answer" || got.Headers["n"] != int64(1) {
			t.Errorf("answer: %+v", got)
		}
		if gone := told.of(broker.NoticeReplyUnrouted); len(gone) != 1 || gone[0] != "gone" {
			t.Errorf("unrouted: %v", gone)
		}
		p.publish("", "orders", amqp.Publishing{Body: []byte("?"), ReplyTo: "answers", CorrelationId: "c2"})
		d := p.receive(s)
		bad := &broker.Reply{Headers: map[string]any{"c": make(chan int)}}
		wantErr(t, p.settle(d, broker.Settlement{Fate: broker.FateDone, Reply: bad}), broker.ErrUnsupported)
		p.mustSettle(d, broker.Settlement{Fate: broker.FatePark, Capture: capture(d)})
		p.wantDepth("orders.parked", 1)
		sifted, err := b.Sift(t.Context(), "orders.parked", broker.SiftOptions{}, func(context.Context, *broker.Stored) (broker.Action, error) {
			return broker.Action{Verb: broker.VerbReply, Reply: answer}, nil
		})
		if err != nil || sifted.Replied != 1 {
			t.Fatalf("%+v, %v", sifted, err)
		}
		if got := p.get("answers"); got.CorrelationId != "c2" {
			t.Errorf("late answer: %+v", got)
		}

		without := p.session(b, broker.Subscription{Queue: "answers"})
		p.publish("", "answers", amqp.Publishing{Body: []byte("?"), ReplyTo: "answers"})
		p.consume(without, 1)
		wantErr(t, p.settle(p.receive(without), broker.Settlement{Fate: broker.FateDone, Reply: answer}), broker.ErrUnsupported)
	})
}

// TestLostRepliesAreMatched sends requests of which every other caller is
// gone. A return that was charged to another publish would be a caller that
// waits in vain and is told to nobody.
func TestLostRepliesAreMatched(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("requests", quorum)
		p.declare("answers", nil)
		const n = 1000
		for i := range n {
			to := "answers"
			if i%2 == 1 {
				to = fmt.Sprintf("gone.%d", i)
			}
			// A message id may repeat: nothing may be matched by it.
			p.publish("", "requests", amqp.Publishing{Body: []byte("?"), ReplyTo: to, CorrelationId: strconv.Itoa(i), MessageId: "same"})
		}
		w := p.runResponder(p.open(), holdfast.ResponderConfig{
			Queue: "requests", Prefetch: 200, Concurrency: 50,
			Handler: func(_ context.Context, m *holdfast.Message) (*holdfast.Reply, error) {
				return &holdfast.Reply{Body: []byte(m.CorrelationID)}, nil
			},
		})
		w.wantEvents(holdfast.EventDone, n)
		lost := map[string]int{}
		for _, e := range w.of(holdfast.EventReplyLost) {
			lost[e.Text]++
		}
		p.wantDepth("answers", n/2)
		answered := map[int]int{}
		for _, i := range p.numbers("answers") {
			answered[i]++
		}
		for i := range n {
			gone := i % 2
			if lost[fmt.Sprintf("gone.%d", i)] != gone || answered[i] != 1-gone {
				t.Errorf("request %d: %d answers, told as lost %d times", i, answered[i], lost[fmt.Sprintf("gone.%d", i)])
			}
		}
		if len(lost) != n/2 || len(answered) != n/2 {
			t.Errorf("%d were told as lost, %d were answered", len(lost), len(answered))
		}
	})
}
