package jetstream_test

import (
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/jetstream"
)

func withReplicas(n int) func(*jetstream.Config) {
	return func(c *jetstream.Config) { c.Replicas = n }
}

// TestSourcesThatAreRefused: a consumer that would lose or mangle messages is
// refused with a text that says what to do.
func TestSourcesThatAreRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.stream("ORDERS", func(c *natsjs.StreamConfig) { c.Retention = natsjs.LimitsPolicy })
	b := p.open()
	for name, c := range map[string]struct {
		says   string
		change func(*natsjs.ConsumerConfig)
	}{
		"none":    {"needs the ack policy explicit", func(c *natsjs.ConsumerConfig) { c.AckPolicy = natsjs.AckNonePolicy; c.AckWait = 0 }},
		"all":     {"needs the ack policy explicit", func(c *natsjs.ConsumerConfig) { c.AckPolicy = natsjs.AckAllPolicy }},
		"headers": {"headers only", func(c *natsjs.ConsumerConfig) { c.HeadersOnly = true }},
		"priority": {"priority policy", func(c *natsjs.ConsumerConfig) {
			c.PriorityPolicy, c.PriorityGroups = natsjs.PriorityPolicyOverflow, []string{"a"}
		}},
	} {
		p.consumer("ORDERS", name, c.change)
		p.refusedAtStart(b, "ORDERS/"+name, broker.ErrMismatch, c.says)
	}
	_, err := p.js.CreatePushConsumer(p.ctx(), "ORDERS", natsjs.ConsumerConfig{
		Durable: "push", DeliverSubject: "there", AckPolicy: natsjs.AckExplicitPolicy,
	})
	p.must(err)
	p.refusedAtStart(b, "ORDERS/push", broker.ErrMismatch, "make a pull consumer")
	p.refusedAtStart(b, "ORDERS/nobody", broker.ErrMissing, "nats consumer add ORDERS nobody --pull --ack explicit")
	p.refusedAtStart(b, "NOTHING/nobody", broker.ErrMissing)
	if _, err := p.js.Stream(p.ctx(), workStream); err == nil {
		t.Error("streams were made for sources that were refused")
	}
}

// TestSourcesOfOneName: two queues whose names read the same with a plus sign
// between them do not share a consumer.
func TestSourcesOfOneName(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.stream("A+B")
	p.consumer("A+B", "C")
	p.stream("A")
	p.consumer("A", "B+C")
	b := p.open()
	p.session(b, broker.Subscription{Queue: "A+B/C"})
	p.refusedAtStart(b, "A/B+C", broker.ErrMismatch, "another queue's")
}

func TestPausedSourceIsTold(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	c, err := p.js.Consumer(p.ctx(), "ORDERS", "billing")
	p.must(err)
	stream, err := p.js.Stream(p.ctx(), "ORDERS")
	p.must(err)
	_, err = stream.PauseConsumer(p.ctx(), "billing", time.Now().Add(time.Hour))
	p.must(err)
	s, told := p.sessionTelling(p.open(), broker.Subscription{Queue: queue})
	if !told.warned("ORDERS/billing is paused by its owner for 1h") {
		t.Errorf("it said %q", told.of(broker.NoticeWarning))
	}
	p.must(s.Consume(p.ctx(), 1))
	p.publish("a")
	p.receivesNothing(s)
	_, err = stream.ResumeConsumer(p.ctx(), "billing")
	p.must(err)
	p.receives(s, "a")
	if c.CachedInfo().Config.AckWait != ackWait {
		t.Error("the source was changed")
	}
}

// TestBackConsumerIsMended: what somebody has set on the driver's own consumer
// could leave messages lying for ever.
func TestBackConsumerIsMended(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	b := p.open()
	p.session(b, broker.Subscription{Queue: queue})
	const back = "ORDERS+billing"
	made := p.consumerInfo(workStream, back).Config
	for what, change := range map[string]func(*natsjs.ConsumerConfig){
		"max deliver": func(c *natsjs.ConsumerConfig) { c.MaxDeliver = 2 },
		"ack pending": func(c *natsjs.ConsumerConfig) { c.MaxAckPending = 1 },
		"ack wait":    func(c *natsjs.ConsumerConfig) { c.AckWait = time.Hour },
		"headers":     func(c *natsjs.ConsumerConfig) { c.HeadersOnly = true },
		"batch":       func(c *natsjs.ConsumerConfig) { c.MaxRequestBatch = 1 },
	} {
		cfg := made
		change(&cfg)
		_, err := p.js.UpdateConsumer(p.ctx(), workStream, cfg)
		p.must(err)
		p.session(b, broker.Subscription{Queue: queue})
		got := p.consumerInfo(workStream, back).Config
		if got.MaxDeliver != -1 || got.MaxAckPending != made.MaxAckPending || got.AckWait != ackWait || got.HeadersOnly || got.MaxRequestBatch != 0 {
			t.Errorf("%s: it is %+v", what, got)
		}
	}
}

// TestSourceIsNotTouched: nothing of the owner's is changed by all that a
// session does.
func TestSourceIsNotTouched(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	stream, consumer := p.streamInfo("ORDERS").Config, p.consumerInfo("ORDERS", "billing").Config
	s := p.consuming(p.open(), queue, 3)
	p.publish("a", "b", "c")
	list := p.receives(s, "a", "b", "c")
	p.mustSettle(list[0], parked(list[0]))
	p.mustSettle(list[1], delayed(list[1], time.Minute))
	p.mustSettle(list[2], held(list[2]))
	if got := p.streamInfo("ORDERS").Config; !sameText(got, stream) {
		t.Errorf("the stream was %+v and is %+v", stream, got)
	}
	if got := p.consumerInfo("ORDERS", "billing").Config; !sameText(got, consumer) {
		t.Errorf("the consumer was %+v and is %+v", consumer, got)
	}
	var names []string
	for name := range p.js.StreamNames(p.ctx()).Name() {
		names = append(names, name)
	}
	if got := strings.Join(names, " "); got != "ORDERS holdfast-parked holdfast-work" {
		t.Errorf("the streams are %s", got)
	}
}
