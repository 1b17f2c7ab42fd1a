package rabbitmq_test

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

func TestHoldReturns(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, _ string) {
		told := &notices{}
		const hold = 500 * time.Millisecond
		s := p.session(p.open(), broker.Subscription{Queue: "orders", Hold: hold, Notify: told.add})
		p.publish("", "orders", amqp.Publishing{Body: []byte("a"), Headers: amqp.Table{"k": "v"}})
		p.consume(s, 1)
		d := p.receive(s)
		c := capture(d)
		c.Attempt, c.Lap = 1, 1
		p.mustSettle(d, broker.Settlement{Fate: broker.FateHold, Capture: c})
		d = p.receive(s)
		if early := time.Until(c.FailedAt.Add(hold)); early > 0 {
			p.Errorf("it came back %v too early", early)
		}
		if m := d.Message(); m.Lap != 1 || m.Attempt != 1 || m.Headers["k"] != "v" || d.Facts().Capture.ID != c.ID {
			p.Errorf("came back as %+v", m)
		}
		p.mustSettle(d, broker.Settlement{Fate: broker.FateDone})
		testenv.Eventually(p, patience, "the return is told", func() bool { return len(told.of(broker.NoticeReturned)) == 1 })
		if ids := told.of(broker.NoticeReturned); ids[0] != c.ID {
			p.Errorf("returned: %v", ids)
		}
		p.wantDepth("orders.hold", 0)

		p.publish("holdfast", "orders.hold", amqp.Publishing{Body: []byte("by hand")})
		if d := p.receive(s); string(d.Message().Body) != "by hand" {
			p.Errorf("came back: %q", d.Message().Body)
		}
		if warnings := told.of(broker.NoticeWarning); len(warnings) != 1 {
			p.Errorf("warnings: %v", warnings)
		}
	})
}

// TestHoldOutlivesTheConsumerTimeout lowers the broker's timeout to less than
// the hold, and shows with a plain consumer that it acts. Not parallel: it
// acts on everybody.
func TestHoldOutlivesTheConsumerTimeout(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		lowerConsumerTimeout(t, r)
		p := newPlace(t, r)
		p.declare("orders", nil)
		p.declare("control", quorum)
		p.publish("", "control", amqp.Publishing{Body: []byte("a")})
		ended := p.plain.NotifyClose(make(chan *amqp.Error, 1))
		cancelled := p.plain.NotifyCancel(make(chan string, 1))
		if _, err := p.plain.Consume("control", "", false, false, false, false, nil); err != nil {
			t.Fatal(err)
		}
		s := p.session(p.open(), broker.Subscription{Queue: "orders", Hold: 4 * time.Second})
		p.consume(s, 1)
		select {
		case why := <-ended:
			t.Logf("the broker ended the control's channel: %v", why)
		case <-cancelled:
		case <-time.After(patience):
			t.Fatal("the broker's timeout does not act: nothing is proven")
		}
		p.connect()
		p.publish("", "orders", amqp.Publishing{Body: []byte("a")})
		d := p.receive(s)
		p.mustSettle(d, broker.Settlement{Fate: broker.FateHold, Capture: capture(d)})
		d = p.receive(s)
		p.mustSettle(d, broker.Settlement{Fate: broker.FateDone})
		if err := s.Err(); err != nil {
			t.Errorf("the session ended: %v", err)
		}
	})
}

// TestResume ends a hold early, while the replayer waits.
func TestResume(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", quorum)
		b := p.open()
		s := p.session(b, broker.Subscription{Queue: "orders", Hold: time.Hour})
		p.consume(s, 10)
		for range 10 {
			p.publish("", "orders", amqp.Publishing{Body: []byte("a")})
		}
		for range 10 {
			d := p.receive(s)
			p.mustSettle(d, broker.Settlement{Fate: broker.FateHold, Capture: capture(d)})
		}
		p.wantDepth("orders.hold", 10)
		sifted, err := b.Sift(t.Context(), "orders.hold", broker.SiftOptions{}, resume)
		if err != nil || sifted.Copied != 10 {
			t.Fatalf("%+v, %v", sifted, err)
		}
		for range 10 {
			d := p.receive(s)
			if d.Facts().Capture == nil {
				t.Error("the capture was not kept")
			}
			p.mustSettle(d, broker.Settlement{Fate: broker.FateDone})
		}
	})
}
