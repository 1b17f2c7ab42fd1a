package conformance

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/test/faultproxy"
)

// rabbit is a virtual host for one configuration, and a plain client that does
// there what producers and operators do.
type rabbit struct {
	server testenv.RabbitMQ
	kind   string
	url    string
	names  atomic.Int64

	mu      sync.Mutex
	client  *amqp.Connection
	plain   *amqp.Channel // of client, used by one goroutine at a time
	proxies map[broker.Broker]*faultproxy.Proxy
}

func newRabbit(t *testing.T, server testenv.RabbitMQ, kind string) *rabbit {
	t.Helper()
	r := &rabbit{server: server, kind: kind, url: server.VHost(t), proxies: map[broker.Broker]*faultproxy.Proxy{}}
	r.connect(t)
	t.Cleanup(func() { r.client.Close() })
	return r
}

// connect makes the plain client, and makes it again after a restart.
func (r *rabbit) connect(t *testing.T) {
	t.Helper()
	c, err := amqp.Dial(r.url)
	if err != nil {
		t.Fatal(err)
	}
	r.client = c
	if r.plain, err = c.Channel(); err == nil {
		err = r.plain.Confirm(false)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// open opens the driver through a proxy of its own, so that its connections
// can be cut and no other's.
func (r *rabbit) open(t *testing.T) broker.Broker {
	t.Helper()
	p, through := faultproxy.Before(t, r.url)
	b, err := rabbitmq.Open(t.Context(), rabbitmq.Config{URL: through, Heartbeat: 2 * time.Second, ConfirmTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proxies[b] = p
	return b
}

func (r *rabbit) cut(_ *testing.T, b broker.Broker) {
	r.mu.Lock()
	p := r.proxies[b]
	r.mu.Unlock()
	p.Cut()
}

// do uses the plain client.
func (r *rabbit) do(t *testing.T, what string, request func(ch *amqp.Channel) error) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := request(r.plain); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func (r *rabbit) declare(t *testing.T, queue string) {
	t.Helper()
	r.do(t, "declare "+queue, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-queue-type": r.kind})
		return err
	})
}

func (r *rabbit) newQueue(t *testing.T) string {
	t.Helper()
	queue := fmt.Sprintf("source-%d", r.names.Add(1))
	r.declare(t, queue)
	return queue
}

// newTransientQueue makes a server-named queue, of which nobody can say
// whether it will still be there.
func (r *rabbit) newTransientQueue(t *testing.T) (queue string) {
	t.Helper()
	r.do(t, "declare a server-named queue", func(ch *amqp.Channel) error {
		q, err := ch.QueueDeclare("", true, false, false, false, nil)
		queue = q.Name
		return err
	})
	return queue
}

func (r *rabbit) deleteQueue(t *testing.T, queue string) {
	t.Helper()
	r.do(t, "delete "+queue, func(ch *amqp.Channel) error {
		_, err := ch.QueueDelete(queue, false, false, false)
		return err
	})
}

func (r *rabbit) publish(t *testing.T, exchange, key string, m *broker.Message) {
	t.Helper()
	var confirm *amqp.DeferredConfirmation
	r.do(t, "publish to "+key, func(ch *amqp.Channel) (err error) {
		confirm, err = ch.PublishWithDeferredConfirm(exchange, key, true, false, publishing(m))
		return err
	})
	if !confirm.Wait() {
		t.Fatalf("publish to %s: refused", key)
	}
}

func publishing(m *broker.Message) amqp.Publishing {
	return amqp.Publishing{
		Headers: amqp.Table(m.Headers), Body: m.Body, DeliveryMode: amqp.Persistent,
		MessageId: m.ID, CorrelationId: m.CorrelationID, ReplyTo: m.ReplyTo,
		ContentType: m.ContentType, ContentEncoding: m.ContentEncoding, Type: m.Type, AppId: m.AppID, Timestamp: m.Timestamp,
	}
}

func (r *rabbit) publishVia(t *testing.T, queue string, m *broker.Message) (exchange, key string) {
	t.Helper()
	exchange, key = fmt.Sprintf("via-%d", r.names.Add(1)), "first.key"
	r.do(t, "bind "+exchange, func(ch *amqp.Channel) error {
		if err := ch.ExchangeDeclare(exchange, "topic", true, false, false, false, nil); err != nil {
			return err
		}
		return ch.QueueBind(queue, "first.#", exchange, false, nil)
	})
	r.publish(t, exchange, key, m)
	return exchange, key
}

func (r *rabbit) restart(t *testing.T) {
	t.Helper()
	r.server.Restart(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.connect(t)
}

// block raises the memory alarm of the server.
func (r *rabbit) block(t *testing.T) func() {
	t.Helper()
	usual := "0.6"
	if r.server.Name == "rabbitmq3" {
		usual = "0.4"
	}
	r.server.Ctl(t, "set_vm_memory_high_watermark", "0.00001")
	unblock := sync.OnceFunc(func() { r.server.Ctl(t, "set_vm_memory_high_watermark", usual) })
	t.Cleanup(unblock)
	return unblock
}
