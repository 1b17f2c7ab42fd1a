package jetstream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// alter changes a stream as an operator would.
func (p *place) alter(name string, change func(*natsjs.StreamConfig)) {
	p.Helper()
	cfg := p.streamInfo(name).Config
	change(&cfg)
	_, err := p.js.UpdateStream(p.ctx(), cfg)
	p.must(err)
}

// TestParkedStreamFull: an operator's limit that refuses the new is obeyed,
// and costs nothing but time.
func TestParkedStreamFull(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	b := p.open()
	s := p.consuming(b, queue, 5)
	p.alter(parkedStream, func(c *natsjs.StreamConfig) { c.MaxMsgs = 1 })
	p.publish("bad 1", "bad 2", "good")
	list := p.receives(s, "bad 1", "bad 2", "good")
	p.mustSettle(list[0], parked(list[0]))
	wantErr(t, p.settle(list[1], parked(list[1])), broker.ErrRefused, parkedStream, "maximum messages exceeded")
	p.mustSettle(list[2], done)
	p.publish("next")
	p.mustSettle(p.receives(s, "next")[0], done)
	wantErr(t, p.settle(list[1], parked(list[1])), broker.ErrRefused)
	p.wantStored("ORDERS", 1)
	p.alter(parkedStream, func(c *natsjs.StreamConfig) { c.MaxMsgs = -1 })
	p.mustSettle(list[1], parked(list[1]))
	p.wantStored(parkedStream, 2)
	p.wantStored("ORDERS", 0)
}

// TestConsumerWaitsForRoom runs a whole consumer against a full stream: it
// keeps what it cannot park, goes on with the others, and parks in the end.
func TestConsumerWaitsForRoom(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	b := p.open()
	p.session(b, broker.Subscription{Queue: queue}) // makes the streams
	p.alter(parkedStream, func(c *natsjs.StreamConfig) { c.MaxMsgs = 1 })
	var runs tally
	w := p.run(b, holdfast.ConsumerConfig{Queue: queue, Concurrency: 2, Handler: func(_ context.Context, m *holdfast.Message) error {
		runs.add(string(m.Body))
		if strings.HasPrefix(string(m.Body), "bad") {
			return holdfast.Park(errors.New("no such customer"))
		}
		return nil
	}})
	p.publish("first") // until it is settled the consumer takes one at a time
	w.wantEvents(holdfast.EventDone, 1)
	p.publish("bad 1", "bad 2", "good 1", "good 2")
	w.wantEvents(holdfast.EventUnsettled, 1)
	w.wantEvents(holdfast.EventDone, 3)
	wantErr(t, w.of(holdfast.EventUnsettled)[0].Err, broker.ErrRefused, "maximum messages exceeded")
	p.wantStored(parkedStream, 1)
	p.alter(parkedStream, func(c *natsjs.StreamConfig) { c.MaxMsgs = -1 })
	p.wantStored(parkedStream, 2)
	w.wantEvents(holdfast.EventParked, 2)
	for _, body := range []string{"bad 1", "bad 2"} {
		if n := runs.of(body); n != 1 {
			t.Errorf("%s ran %d times", body, n)
		}
	}
}

// TestStreamsThatLose: a stream of ours that somebody has set up so that it
// loses copies is refused at the start, with what to do.
func TestStreamsThatLose(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	b := p.open()
	for _, c := range []struct {
		stream, says string
		change       func(*natsjs.StreamConfig)
	}{
		{parkedStream, "drops the oldest", func(c *natsjs.StreamConfig) { c.MaxBytes, c.Discard = 1<<20, natsjs.DiscardOld }},
		{parkedStream, "drops the oldest", func(c *natsjs.StreamConfig) { c.MaxMsgs, c.Discard = 10, natsjs.DiscardOld }},
		{parkedStream, "drops the oldest", func(c *natsjs.StreamConfig) { c.MaxMsgsPerSubject = 1 }},
		{parkedStream, "drops messages after 1h", func(c *natsjs.StreamConfig) { c.MaxAge = time.Hour }},
		{parkedStream, "is in memory", func(c *natsjs.StreamConfig) { c.Storage = natsjs.MemoryStorage }},
		{parkedStream, "retention", func(c *natsjs.StreamConfig) { c.Retention = natsjs.InterestPolicy }},
		{parkedStream, "has the subjects", func(c *natsjs.StreamConfig) { c.Subjects = []string{"holdfast.parked.A.>"} }},
		{parkedStream, "confirms nothing", func(c *natsjs.StreamConfig) { c.NoAck = true }},
		{parkedStream, "other subjects", func(c *natsjs.StreamConfig) {
			c.SubjectTransform = &natsjs.SubjectTransformConfig{Source: "holdfast.parked.>", Destination: "holdfast.parked.x.>"}
		}},
		{workStream, "drops the oldest", func(c *natsjs.StreamConfig) { c.MaxMsgs = 10 }},
		{workStream, "drops messages after", func(c *natsjs.StreamConfig) { c.MaxAge = time.Hour }},
		{workStream, "is in memory", func(c *natsjs.StreamConfig) { c.Storage = natsjs.MemoryStorage }},
		{workStream, "retention", func(c *natsjs.StreamConfig) { c.Retention = natsjs.LimitsPolicy }},
		{workStream, "scheduled", func(c *natsjs.StreamConfig) { c.AllowMsgSchedules = false }},
	} {
		cfg := ours(c.stream)
		c.change(&cfg)
		_, err := p.js.CreateStream(p.ctx(), cfg)
		p.must(err)
		p.refusedAtStart(b, queue, broker.ErrMismatch, c.stream, c.says, "nats stream edit")
		p.must(p.js.DeleteStream(p.ctx(), c.stream))
		if c.stream == parkedStream {
			p.must(p.js.DeleteStream(p.ctx(), workStream)) // it was made before
		}
	}
	// A limit that refuses the new is an operator's right.
	cfg := ours(parkedStream)
	cfg.MaxBytes, cfg.MaxMsgs, cfg.MaxMsgsPerSubject, cfg.DiscardNewPerSubject = 1<<20, 10, 5, true
	_, err := p.js.CreateStream(p.ctx(), cfg)
	p.must(err)
	p.session(b, broker.Subscription{Queue: queue})
}

// ours is a stream as the driver makes it.
func ours(name string) natsjs.StreamConfig {
	if name == workStream {
		return natsjs.StreamConfig{
			Name: name, Subjects: []string{"holdfast.wait.>", "holdfast.back.>"}, Retention: natsjs.WorkQueuePolicy, AllowMsgSchedules: true,
		}
	}
	return natsjs.StreamConfig{Name: name, Subjects: []string{"holdfast.parked.>"}, Discard: natsjs.DiscardNew}
}

// TestStreamsThatCannotBeMade: what a server cannot give is told at the start.
func TestStreamsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	p.refusedAtStart(p.open(withReplicas(3)), queue, broker.ErrConfig, "replicas > 1 not supported")
	err := p.open(withReplicas(3)).Publish(p.ctx(), broker.Target{Queue: queue}, &broker.Message{})
	wantErr(t, err, broker.ErrConfig, "replicas > 1 not supported")
	p.stream("ALL", func(c *natsjs.StreamConfig) { c.Subjects = []string{"holdfast.>"} })
	p.refusedAtStart(p.open(), queue, broker.ErrMismatch, workStream, "overlap")
}
