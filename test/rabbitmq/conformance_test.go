package rabbitmq_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/brokertest"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

func TestConformance(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		for kind, args := range sources {
			t.Run(kind, func(t *testing.T) { brokertest.Run(t, conformanceEnv(t, r, kind, args)) })
		}
	})
}

// conformance is one configuration for the suite.
type conformance struct {
	*place
	args   amqp.Table
	queues atomic.Int64
	plain  sync.Mutex

	mu      sync.Mutex
	proxies map[broker.Broker]*proxy
}

func conformanceEnv(t *testing.T, r testenv.RabbitMQ, kind string, args amqp.Table) brokertest.Env {
	c := &conformance{place: newPlace(t, r), args: args, proxies: map[broker.Broker]*proxy{}}
	counts := kind == "quorum"
	return brokertest.Env{
		Name: r.Name + " " + kind,
		Capabilities: broker.Capabilities{
			Delay: true, Hold: true, Replies: true, Stamp: true,
			Counts: counts, FreeRelease: counts && r.Name == "rabbitmq4", MaxHeaders: 64 << 10,
		},
		Open:              c.open,
		NewQueue:          c.newQueue,
		RecreateQueue:     func(t *testing.T, queue string) { c.declare(t, queue) },
		DeleteQueue:       c.deleteQueue,
		NewTransientQueue: c.transient,
		Publish:           func(t *testing.T, queue string, m *broker.Message) { c.publish(t, "", queue, m) },
		PublishVia:        c.publishVia,
		Parked: func(queue string) string {
			if strings.HasPrefix(queue, "amq.") {
				return "holdfast.parked"
			}
			return queue + ".parked"
		},
		Hold:        func(queue string) string { return queue + ".hold" },
		Cut:         c.cut,
		Restart:     c.restart,
		Block:       c.block,
		LargestBody: 4 << 20,
		Headers: map[string]any{
			"text": "größe ✓", "bytes": []byte{0, 0xff}, "nil": nil, "bool": true, "int8": int8(-1), "byte": byte(2),
			"int16": int16(-3), "uint16": uint16(4), "int32": int32(-5), "uint32": uint32(6), "int64": int64(-7),
			"float32": float32(1.5), "float64": 2.5, "time": time.Unix(1_700_000_000, 0), "decimal": amqp.Decimal{Scale: 2, Value: 12345},
			"table": amqp.Table{"in": amqp.Table{"n": int64(1)}}, "array": []any{"a", int32(1), amqp.Table{"k": nil}},
		},
		Slow: 2,
	}
}

func (c *conformance) open(t *testing.T) broker.Broker {
	p, through := newProxy(t, c.url)
	b, err := rabbitmq.Open(t.Context(), rabbitmq.Config{URL: through, Heartbeat: 2 * time.Second, ConfirmTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proxies[b] = p
	return b
}

func (c *conformance) cut(_ *testing.T, b broker.Broker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proxies[b].cut()
}

// do uses the plain channel, which is not for two goroutines at once.
func (c *conformance) do(t *testing.T, f func(ch *amqp.Channel) error) {
	t.Helper()
	c.plain.Lock()
	defer c.plain.Unlock()
	if err := f(c.place.plain); err != nil {
		t.Fatal(err)
	}
}

func (c *conformance) declare(t *testing.T, queue string) {
	t.Helper()
	c.do(t, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(queue, true, false, false, false, c.args)
		return err
	})
}

func (c *conformance) newQueue(t *testing.T) string {
	queue := fmt.Sprintf("q%d", c.queues.Add(1))
	c.declare(t, queue)
	return queue
}

func (c *conformance) transient(t *testing.T) (queue string) {
	c.do(t, func(ch *amqp.Channel) error {
		q, err := ch.QueueDeclare("", true, false, false, false, nil)
		queue = q.Name
		return err
	})
	return queue
}

func (c *conformance) deleteQueue(t *testing.T, queue string) {
	c.do(t, func(ch *amqp.Channel) error {
		_, err := ch.QueueDelete(queue, false, false, false)
		return err
	})
}

func (c *conformance) publish(t *testing.T, exchange, key string, m *broker.Message) {
	t.Helper()
	var conf *amqp.DeferredConfirmation
	c.do(t, func(ch *amqp.Channel) error {
		if err := ch.Confirm(false); err != nil {
			return err
		}
		var err error
		conf, err = ch.PublishWithDeferredConfirm(exchange, key, true, false, amqp.Publishing{
			Headers: amqp.Table(m.Headers), Body: m.Body, MessageId: m.ID, CorrelationId: m.CorrelationID, ReplyTo: m.ReplyTo,
			ContentType: m.ContentType, ContentEncoding: m.ContentEncoding, Type: m.Type, AppId: m.AppID, Timestamp: m.Timestamp,
			DeliveryMode: amqp.Persistent,
		})
		return err
	})
	if !conf.Wait() {
		t.Fatal("the broker refused the test's own message")
	}
}

func (c *conformance) publishVia(t *testing.T, queue string, m *broker.Message) (exchange, key string) {
	exchange, key = "via."+queue, "a.key"
	c.do(t, func(ch *amqp.Channel) error {
		if err := ch.ExchangeDeclare(exchange, "topic", true, false, false, false, nil); err != nil {
			return err
		}
		return ch.QueueBind(queue, "a.#", exchange, false, nil)
	})
	c.publish(t, exchange, key, m)
	return exchange, key
}

func (c *conformance) restart(t *testing.T) {
	c.broker.Restart(t)
	c.plain.Lock()
	defer c.plain.Unlock()
	c.connect()
}

func (c *conformance) block(t *testing.T) func() {
	c.broker.Ctl(t, "set_vm_memory_high_watermark", "0.00001")
	unblock := sync.OnceFunc(func() { c.broker.Ctl(t, "set_vm_memory_high_watermark", "0.4") })
	t.Cleanup(unblock)
	return unblock
}
