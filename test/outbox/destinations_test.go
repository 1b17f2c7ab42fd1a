package outbox_test

import (
	"context"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/outbox"
)

// eachRabbitMQ runs f on every RabbitMQ, on a virtual host of its own.
func eachRabbitMQ(t *testing.T, f func(t *testing.T, r testenv.RabbitMQ, url string, p place)) {
	for _, r := range testenv.RabbitMQs(t) {
		t.Run(r.Name, func(t *testing.T) { f(t, r, r.VHost(t), onSQLite(t)) })
	}
}

func openRabbitMQ(t *testing.T, url string) *rabbitmq.Broker {
	t.Helper()
	b, err := rabbitmq.Open(context.Background(), rabbitmq.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// TestRelayWithBrokenDestinations: what is missing, forbidden or leads nowhere
// concerns its own rows.
func TestRelayWithBrokenDestinations(t *testing.T) {
	eachRabbitMQ(t, func(t *testing.T, rmq testenv.RabbitMQ, url string, p place) {
		declareExchange(t, url, "good", "q", "#")
		declareExchange(t, url, "foreign", "q", "#")
		declareExchange(t, url, "nowhere", "q", "another.key")
		mine := rmq.User(t, url, "relay", "", "^(good|nowhere|gone)$", "")
		p.add(t, ordered("foreign", "f", 5)...)
		p.add(t, ordered("gone", "m", 5)...)
		p.add(t, ordered("nowhere", "n", 5)...)
		p.add(t, ordered("good", "g", 100)...)
		r := startRelay(t, p, openRabbitMQ(t, mine))
		testenv.Eventually(t, patience, "the good rows are published, and the bad ones told of", func() bool {
			n := p.counts(t)
			return n["good published"] == 100 && n["nowhere failed unrouted"] == 5 &&
				len(r.seen(outbox.RelayForbidden)) == 1 && len(r.seen(outbox.RelayMissing)) == 1
		})
		if n := r.Status().Books.Claimed; n != 105 {
			t.Errorf("%d rows were claimed: what cannot be written must not be", n)
		}
		declareExchange(t, url, "gone", "q", "#")
		p.reaches(t, map[string]int{
			"good published": 100, "nowhere failed unrouted": 5, "gone published": 5, "foreign pending": 5,
		})
		drain(t, url, "q").wantOrder(t)
	})
}

// TestRelayLosesItsDestination: an exchange that is deleted, and one that may
// not be written to any more, while rows come.
func TestRelayLosesItsDestination(t *testing.T) {
	eachRabbitMQ(t, func(t *testing.T, _ testenv.RabbitMQ, url string, p place) {
		declareExchange(t, url, "good", "q", "#")
		declareExchange(t, url, "short", "q", "#")
		r := startRelay(t, p, openRabbitMQ(t, url))
		p.add(t, ordered("short", "a", 5)...)
		p.reaches(t, map[string]int{"short published": 5})
		if err := channel(t, url).ExchangeDelete("short", false, false); err != nil {
			t.Fatal(err)
		}
		p.add(t, ordered("short", "b", 5)...)
		p.add(t, ordered("good", "c", 5)...)
		testenv.Eventually(t, patience, "the deletion is told of", func() bool { return len(r.seen(outbox.RelayMissing)) > 0 })
		testenv.Eventually(t, patience, "the good rows are published", func() bool { return p.counts(t)["good published"] == 5 })
		declareExchange(t, url, "short", "q", "#")
		testenv.Eventually(t, patience, "nothing waits", func() bool {
			n := p.counts(t)
			return n["short published"]+n["short failed missing"] == 10
		})
		if n := p.counts(t); n["short published"] < 9 {
			t.Errorf("rows are %v: the answer 404 concerns the one row that got it", n)
		}
	})
}

// TestRelayOfABlockedBroker: the broker takes no publishes and says so.
func TestRelayOfABlockedBroker(t *testing.T) {
	eachRabbitMQ(t, func(t *testing.T, rmq testenv.RabbitMQ, url string, p place) {
		declareExchange(t, url, "orders", "q", "#")
		r := startRelay(t, p, openRabbitMQ(t, url))
		p.add(t, ordered("orders", "a", 1)...)
		p.reaches(t, map[string]int{"orders published": 1})
		rmq.Ctl(t, "set_vm_memory_high_watermark", "absolute", "1")
		t.Cleanup(func() { rmq.Ctl(t, "set_vm_memory_high_watermark", "0.4") })
		p.add(t, ordered("orders", "b", 50)...)
		testenv.Eventually(t, patience, "the block is seen", func() bool { return r.Status().State == outbox.RelayHeldUp })
		testenv.Eventually(t, patience, "what was not sent is back", func() bool {
			n := p.counts(t)
			return n["orders pending"]+n["orders publishing"] == 50 && n["orders publishing"] <= 1
		})
		if s := r.Status(); s.Lanes == 0 || s.Err == nil {
			t.Errorf("status is %+v", s)
		}
		rmq.Ctl(t, "set_vm_memory_high_watermark", "0.4")
		p.reaches(t, map[string]int{"orders published": 51})
		got := drain(t, url, "q")
		got.wantAll(t, 51)
		got.wantOrder(t)
	})
}

// TestRelayOfAFullQueue: a queue that rejects is tried again.
func TestRelayOfAFullQueue(t *testing.T) {
	eachRabbitMQ(t, func(t *testing.T, _ testenv.RabbitMQ, url string, p place) {
		ch := channel(t, url)
		args := amqp.Table{"x-max-length": 3, "x-overflow": "reject-publish"}
		if _, err := ch.QueueDeclare("small", true, false, false, false, args); err != nil {
			t.Fatal(err)
		}
		if err := ch.ExchangeDeclare("full", amqp.ExchangeFanout, true, false, false, false, nil); err != nil {
			t.Fatal(err)
		}
		if err := ch.QueueBind("small", "", "full", false, nil); err != nil {
			t.Fatal(err)
		}
		r := startRelay(t, p, openRabbitMQ(t, url))
		p.add(t, ordered("full", "a", 6)...)
		testenv.Eventually(t, patience, "the broker takes three and refuses one", func() bool {
			n := p.counts(t)
			return n["full published"] == 3 && n["full pending refused"] == 1 && len(r.seen(outbox.RelayRefused)) > 0
		})
		drain(t, url, "small")
		p.reaches(t, map[string]int{"full published": 6})
	})
}

// TestRelayWhileTheBrokerIsDown: at the start, and then for a while.
func TestRelayWhileTheBrokerIsDown(t *testing.T) {
	rmq := testenv.Need(t, "rabbitmq4")
	url := rmq.VHost(t)
	p := onSQLite(t)
	declareExchange(t, url, "orders", "q", "#")
	rmq.Kill(t)
	r := startRelay(t, p, openRabbitMQ(t, url))
	p.add(t, ordered("orders", "a", 20)...)
	testenv.Eventually(t, patience, "the outage is seen", func() bool { return len(r.seen(outbox.RelayClosed)) > 0 })
	rmq.Start(t)
	p.reaches(t, map[string]int{"orders published": 20})
	rmq.Kill(t)
	p.add(t, ordered("orders", "b", 200)...)
	testenv.Eventually(t, patience, "the outage is seen", func() bool { return len(r.seen(outbox.RelayClosed)) > 1 })
	rmq.Start(t)
	p.reaches(t, map[string]int{"orders published": 220})
	got := drain(t, url, "q")
	got.wantAll(t, 220)
	got.wantOrder(t)
	got.wantMarked(t)
}
