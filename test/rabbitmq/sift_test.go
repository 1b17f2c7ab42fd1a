package rabbitmq_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/test/faultproxy"
)

type picker = func(context.Context, *broker.Stored) (broker.Action, error)

func copyTo(to broker.Target) picker {
	return func(context.Context, *broker.Stored) (broker.Action, error) {
		return broker.Action{Verb: broker.VerbCopy, Target: to, Fresh: true, Stamp: map[string]any{broker.HeaderReplays: 1}}, nil
	}
}

func keep(context.Context, *broker.Stored) (broker.Action, error) { return broker.Action{}, nil }

// fill publishes n numbered messages.
func (p *place) fill(queue string, n int) {
	p.Helper()
	for i := range n {
		p.publish("", queue, amqp.Publishing{Body: []byte(strconv.Itoa(i)), Headers: amqp.Table{"n": int64(i)}})
	}
	p.wantDepth(queue, n)
}

// numbers reads all of a queue and removes it.
func (p *place) numbers(queue string) (list []int) {
	p.Helper()
	for {
		d, ok, err := p.plain.Get(queue, true)
		if err != nil {
			p.Fatal(err)
		}
		if !ok {
			return list
		}
		n, err := strconv.Atoi(string(d.Body))
		if err != nil {
			p.Fatal(err)
		}
		list = append(list, n)
	}
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestSiftKeepsOrderAndPrice(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, kind string) {
		const n, looks = 600, 26
		p.fill("orders", n)
		b := p.open()
		for look := range looks {
			limit := 0
			if look%2 == 1 {
				limit = 10
			}
			want, position := n, 0
			if limit > 0 {
				want = limit
			}
			sifted, err := b.Sift(p.Context(), "orders", broker.SiftOptions{Limit: limit}, func(_ context.Context, m *broker.Stored) (broker.Action, error) {
				if m.Position != position || string(m.Message.Body) != strconv.Itoa(position) {
					p.Errorf("look %d, position %d: %q at %d", look, position, m.Message.Body, m.Position)
				}
				position++
				return broker.Action{}, nil
			})
			if err != nil || sifted != (broker.Sifted{Seen: want, Kept: want}) {
				p.Fatalf("look %d: %+v, %v", look, sifted, err)
			}
			p.wantDepth("orders", n)
		}
		if got := p.numbers("orders"); !slices.Equal(got, upTo(n)) {
			p.Errorf("left: %v", got)
		}
	})
}

func TestSiftSomeOutOfTheMiddle(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, kind string) {
		const n = 1000
		p.declare("target", nil)
		p.fill("orders", n)
		told := 0
		sifted, err := p.open().Sift(p.Context(), "orders", broker.SiftOptions{Settled: func(broker.Sifted) { told++ }},
			func(ctx context.Context, m *broker.Stored) (broker.Action, error) {
				switch m.Position % 3 {
				case 0:
					return copyTo(broker.Target{Queue: "target", Key: "k"})(ctx, m)
				case 1:
					return broker.Action{Verb: broker.VerbDrop}, nil
				}
				return broker.Action{}, nil
			})
		if err != nil || sifted != (broker.Sifted{Seen: n, Kept: 333, Copied: 334, Dropped: 333}) {
			p.Fatalf("%+v, %v", sifted, err)
		}
		if told != n {
			p.Errorf("told %d times", told)
		}
		p.wantDepth("orders", 333)
		for queue, rest := range map[string]int{"target": 0, "orders": 2} {
			for i, got := range p.numbers(queue) {
				if got != 3*i+rest {
					p.Fatalf("%s holds %d at %d", queue, got, i)
				}
			}
		}
		p.noReplayExchange("target")
	})
}

// noReplayExchange checks that the temporary exchange is gone.
func (p *place) noReplayExchange(queue string) {
	p.Helper()
	var list []exchangeInfo
	p.api("exchanges/"+p.vhost(), &list)
	for _, e := range list {
		if e.Name == "holdfast.replay."+queue {
			p.Errorf("exchange %s was left", e.Name)
		}
	}
}

// TestSiftCut ends the connections at random points: nothing may be in
// neither place.
func TestSiftCut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		// As Holdfast declares it: with the default limit, the 21st cut drops what
		// was taken.
		endless := quorum
		if r.Name == "rabbitmq4" {
			endless = amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(-1)}
		}
		p.declare("parked", endless)
		p.declare("target", quorum)
		const n = 400
		p.fill("parked", n)
		proxy, through := faultproxy.Before(t, p.url)
		b := p.open(func(c *rabbitmq.Config) { c.URL = through })
		for cut := 0; p.depth("parked") > 0; cut++ {
			if cut > 30 {
				t.Fatal("it does not come to an end")
			}
			var asked atomic.Int64
			_, err := b.Sift(t.Context(), "parked", broker.SiftOptions{}, func(ctx context.Context, m *broker.Stored) (broker.Action, error) {
				if asked.Add(1) == int64(20+13*cut) {
					proxy.Cut()
				}
				return copyTo(broker.Target{Queue: "target"})(ctx, m)
			})
			if err != nil && broker.Permanent(err) {
				t.Fatal(err)
			}
			p.settled("parked")
		}
		seen := map[int]bool{}
		// What a lost connection held is not counted until it is back.
		testenv.Eventually(t, patience, "every message is in one of the two", func() bool {
			for _, i := range append(p.numbers("target"), p.numbers("parked")...) {
				seen[i] = true
			}
			return len(seen) == n
		})
	})
}

// settled waits until nobody holds a message of queue any more.
func (p *place) settled(queue string) {
	p.Helper()
	testenv.Eventually(p, patience, "all of "+queue+" is back", func() bool {
		q, err := p.plain.QueueDeclarePassive(queue, true, false, false, false, nil)
		if err != nil {
			p.Fatal(err)
		}
		return q.Consumers == 0
	})
}

func TestSiftFailures(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, kind string) {
		p.declare("full", amqp.Table{"x-max-length": 0, "x-overflow": "reject-publish"})
		p.fill("orders", 10)
		b := p.open()
		errStop := errors.New("enough")
		for name, c := range map[string]struct {
			pick  picker
			class error
			seen  int
		}{
			"no target queue": {copyTo(broker.Target{Queue: "none"}), broker.ErrMissing, 1},
			"unrouted":        {copyTo(broker.Target{Exchange: "amq.topic", Key: "nobody"}), broker.ErrUnrouted, 0},
			"refused":         {copyTo(broker.Target{Queue: "full"}), broker.ErrRefused, 0},
			"no exchange":     {copyTo(broker.Target{Exchange: "none"}), broker.ErrUnknown, 0},
			"the pick fails":  {func(context.Context, *broker.Stored) (broker.Action, error) { return broker.Action{}, errStop }, errStop, 1},
			"no reply-to": {func(context.Context, *broker.Stored) (broker.Action, error) {
				return broker.Action{Verb: broker.VerbReply, Reply: &broker.Reply{}}, nil
			}, broker.ErrUnsupported, 1},
		} {
			sifted, err := b.Sift(p.Context(), "orders", broker.SiftOptions{}, c.pick)
			if !errors.Is(err, c.class) || sifted.Copied+sifted.Replied+sifted.Dropped != 0 || c.seen > 0 && sifted.Seen != c.seen {
				p.Errorf("%s: %+v, %v", name, sifted, err)
			}
			p.wantDepth("orders", 10)
		}
		if _, err := b.Sift(p.Context(), "none", broker.SiftOptions{}, keep); !errors.Is(err, broker.ErrMissing) {
			p.Errorf("no queue: %v", err)
		}
		if got := p.numbers("orders"); !slices.Equal(got, upTo(10)) {
			p.Errorf("left: %v", got)
		}
	})
}

// TestReplayOfADeadLetter moves a message that the broker dead-lettered.
func TestReplayOfADeadLetter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
		p.declare("dead", nil)
		p.bind("shop", "topic", "#", "orders")
		p.publish("shop", "order.new", amqp.Publishing{Body: []byte("a"), Headers: amqp.Table{
			"rejectionReason": "None", broker.HeaderID: "old", "kept": "yes",
		}})
		d := func() amqp.Delivery {
			var d amqp.Delivery
			testenv.Eventually(t, patience, "the message", func() (ok bool) {
				d, ok, _ = p.plain.Get("orders", false)
				return ok
			})
			return d
		}()
		if err := d.Reject(false); err != nil {
			t.Fatal(err)
		}
		p.wantDepth("dead", 1)
		_, err := p.open().Sift(t.Context(), "dead", broker.SiftOptions{}, func(ctx context.Context, m *broker.Stored) (broker.Action, error) {
			if m.DeadLettered != "rejected" || m.Capture != nil || m.Message.Origin != (broker.Origin{Exchange: "shop", Key: "order.new", Queue: "orders"}) {
				t.Errorf("stored: %+v, %+v", m, m.Message.Origin)
			}
			return copyTo(broker.Target{Queue: "orders", Key: m.Message.Origin.Key})(ctx, m)
		})
		if err != nil {
			t.Fatal(err)
		}
		got := p.get("orders")
		if got.RoutingKey != "order.new" || got.Redelivered || fmt.Sprint(got.Headers["kept"]) != "yes" {
			t.Errorf("replayed: %+v", got)
		}
		for _, name := range []string{"x-death", "x-first-death-queue", "x-last-death-queue", "rejectionReason", broker.HeaderID} {
			if _, there := got.Headers[name]; there {
				t.Errorf("%s stayed: %v", name, got.Headers)
			}
		}
	})
}

func TestDepth(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", nil)
		p.fill("orders", 3)
		b := p.open()
		depth, err := b.Depth(t.Context(), "orders")
		if err != nil || depth.Messages != 3 || depth.Consumers != 0 || (depth.Charge == "") != (r.Name == "rabbitmq4") {
			t.Errorf("%+v, %v", depth, err)
		}
		_, err = b.Depth(t.Context(), "none")
		wantErr(t, err, broker.ErrMissing)
	})
}

func TestSiftEndsWithItsContext(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", quorum)
		p.fill("orders", 5)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := p.open().Sift(ctx, "orders", broker.SiftOptions{}, func(ctx context.Context, m *broker.Stored) (broker.Action, error) {
			if m.Position == 2 {
				cancel()
			}
			return broker.Action{}, nil
		})
		wantErr(t, err, context.Canceled)
		p.wantDepth("orders", 5)
	})
}
