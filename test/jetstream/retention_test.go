package jetstream_test

import (
	"testing"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

var retentions = []natsjs.RetentionPolicy{natsjs.LimitsPolicy, natsjs.WorkQueuePolicy, natsjs.InterestPolicy}

// eachRetention runs f with a stream ORDERS of each kind, whose consumer
// billing takes two of its subjects.
func eachRetention(t *testing.T, f func(p *place, queue string, kind natsjs.RetentionPolicy)) {
	t.Helper()
	for _, kind := range retentions {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.stream("ORDERS", func(c *natsjs.StreamConfig) { c.Retention = kind })
			p.consumer("ORDERS", "billing", func(c *natsjs.ConsumerConfig) {
				c.FilterSubjects = []string{"orders.new.*", "orders.changed.>"}
			})
			f(p, "ORDERS/billing", kind)
		})
	}
}

// TestRetention: each fate on a stream of each kind, through a consumer of
// several filters.
func TestRetention(t *testing.T) {
	t.Parallel()
	eachRetention(t, func(p *place, queue string, kind natsjs.RetentionPolicy) {
		b := p.open()
		s := p.consuming(b, queue, 4)
		p.send("orders.new.1", "done")
		p.send("orders.other", "not for it")
		p.send("orders.changed.a.b", "delayed")
		p.send("orders.new.2", "parked")
		list := p.receives(s, "done", "delayed", "parked")
		p.mustSettle(list[0], done)
		p.mustSettle(list[1], delayed(list[1], rungs[0]))
		p.mustSettle(list[2], parked(list[2]))
		back := p.receives(s, "delayed")[0]
		want := broker.Origin{Exchange: "ORDERS", Key: "orders.changed.a.b", Queue: queue}
		if m := back.Message(); m.Origin != want || m.Attempt != 2 {
			p.Errorf("it came back as %+v", m)
		}
		p.mustSettle(back, done)
		left := map[natsjs.RetentionPolicy]int{natsjs.LimitsPolicy: 4, natsjs.WorkQueuePolicy: 1, natsjs.InterestPolicy: 0}
		p.wantStored("ORDERS", left[kind])
		p.wantStored(workStream, 0)
		for _, m := range p.sifted(queue + ".parked") {
			if m.Message.Origin.Key != "orders.new.2" {
				p.Errorf("parked from %v", m.Message.Origin)
			}
		}
	})
}

// TestSiftSource looks at, and where the stream allows it moves, what a source
// has not handed out.
func TestSiftSource(t *testing.T) {
	t.Parallel()
	eachRetention(t, func(p *place, queue string, kind natsjs.RetentionPolicy) {
		b := p.open()
		p.session(b, broker.Subscription{Queue: queue})
		p.send("orders.new.1", "a")
		p.send("orders.other", "not for it")
		p.send("orders.changed.1", "b")
		p.eventually("both wait", func() bool { // the server counts them in its own time
			d, err := b.Depth(p.ctx(), queue)
			p.must(err)
			return d.Messages == 2
		})
		list := p.sifted(queue)
		if len(list) != 2 || string(list[0].Message.Body) != "a" || list[1].Message.Origin.Key != "orders.changed.1" {
			p.Fatalf("it holds %+v", list)
		}
		sum, err := b.Sift(p.ctx(), queue, broker.SiftOptions{Limit: 1}, dropAll)
		switch kind {
		case natsjs.WorkQueuePolicy:
			if err != nil || sum.Dropped != 1 {
				p.Errorf("%+v, %v", sum, err)
			}
			p.receives(p.consuming(b, queue, 2), "b")
		default: // it belongs to other consumers, too
			if wantErr(p, err, broker.ErrUnsupported, "consume it"); sum.Kept != 1 {
				p.Errorf("%+v", sum)
			}
			p.receives(p.consuming(b, queue, 2), "a", "b")
		}
	})
}
