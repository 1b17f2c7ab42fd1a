package jetstream_test

import (
	"context"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// TestLongHandler: a handler that runs three times as long as the ack wait, and
// a message that waits behind it in hand, are delivered once.
func TestLongHandler(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*natsjs.ConsumerConfig){
		"ack wait": waiting(time.Second),
		"back-off": func(c *natsjs.ConsumerConfig) {
			c.BackOff, c.MaxDeliver = []time.Duration{time.Second, 4 * time.Second}, 10
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			queue := p.queue(change)
			var runs tally
			w := p.run(p.open(), holdfast.ConsumerConfig{
				Queue: queue, Concurrency: 1, Prefetch: 5, Handler: func(ctx context.Context, m *holdfast.Message) error {
					if runs.add(string(m.Body)) == 1 && string(m.Body) == "long" {
						<-time.After(3 * time.Second)
					}
					return nil
				},
			})
			p.publish("first") // after it the consumer takes all that it may
			w.wantEvents(holdfast.EventDone, 1)
			p.publish("long", "behind", "last")
			w.wantEvents(holdfast.EventDone, 4)
			for _, body := range []string{"long", "behind", "last"} {
				if n := runs.of(body); n != 1 {
					t.Errorf("%s ran %d times", body, n)
				}
			}
			if n := p.consumerInfo("ORDERS", "billing").NumRedelivered; n != 0 {
				t.Errorf("%d were delivered again", n)
			}
		})
	}
}

// TestAckWaitOfACopy: a copy that came back is kept as patiently.
func TestAckWaitOfACopy(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue(waiting(time.Second))
	s := p.consuming(p.open(), queue, 2)
	p.publish("a")
	d := p.receive(s)
	p.mustSettle(d, broker.Settlement{Fate: broker.FateRelease, Capture: capture(d)})
	d = p.receives(s, "a")[0]
	other := p.consuming(p.open(), queue, 2)
	until, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if d, err := other.Receive(until); err == nil {
		t.Errorf("%q was delivered again, %+v", d.Message().Body, d.Facts())
	}
	p.mustSettle(d, done)
	p.wantStored(workStream, 0)
}
