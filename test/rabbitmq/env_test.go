package rabbitmq_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// each runs f against every version that this machine has.
func each(t *testing.T, f func(t *testing.T, r testenv.RabbitMQ)) {
	t.Helper()
	for _, r := range testenv.RabbitMQs(t) {
		t.Run(r.Name, func(t *testing.T) { f(t, r) })
	}
}

// place is a virtual host of a test's own, with a plain client to look at it.
type place struct {
	*testing.T
	broker testenv.RabbitMQ
	url    string
	plain  *amqp.Channel
}

func newPlace(t *testing.T, r testenv.RabbitMQ) *place {
	t.Helper()
	p := &place{T: t, broker: r, url: r.VHost(t)}
	p.connect()
	return p
}

// connect makes the plain client, also after a restart.
func (p *place) connect() {
	p.Helper()
	c, err := amqp.Dial(p.url)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { c.Close() })
	if p.plain, err = c.Channel(); err != nil {
		p.Fatal(err)
	}
}

func (p *place) vhost() string {
	u, err := url.Parse(p.url)
	if err != nil {
		p.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

var quorum = amqp.Table{"x-queue-type": "quorum"}

func (p *place) declare(queue string, args amqp.Table) {
	p.Helper()
	if _, err := p.plain.QueueDeclare(queue, true, false, false, false, args); err != nil {
		p.Fatal(err)
	}
}

// bind declares an exchange and binds queues to it.
func (p *place) bind(exchange, kind, key string, queues ...string) {
	p.Helper()
	if err := p.plain.ExchangeDeclare(exchange, kind, true, false, false, false, nil); err != nil {
		p.Fatal(err)
	}
	for _, queue := range queues {
		if err := p.plain.QueueBind(queue, key, exchange, false, nil); err != nil {
			p.Fatal(err)
		}
	}
}

func (p *place) publish(exchange, key string, m amqp.Publishing) {
	p.Helper()
	if m.DeliveryMode == 0 {
		m.DeliveryMode = amqp.Persistent
	}
	if err := p.plain.PublishWithContext(p.Context(), exchange, key, true, false, m); err != nil {
		p.Fatal(err)
	}
}

// get takes the first message of queue, waiting for it.
func (p *place) get(queue string) amqp.Delivery {
	p.Helper()
	var d amqp.Delivery
	testenv.Eventually(p, patience, "a message in "+queue, func() bool {
		var ok bool
		var err error
		if d, ok, err = p.plain.Get(queue, true); err != nil {
			p.Fatal(err)
		}
		return ok
	})
	return d
}

func (p *place) depth(queue string) int {
	p.Helper()
	q, err := p.plain.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		p.Fatal(err)
	}
	return q.Messages
}

func (p *place) wantDepth(queue string, n int) {
	p.Helper()
	testenv.Eventually(p, patience, fmt.Sprintf("%d messages in %s", n, queue), func() bool { return p.depth(queue) == n })
}

// open opens the driver.
func (p *place) open(change ...func(*rabbitmq.Config)) *rabbitmq.Broker {
	p.Helper()
	conf := rabbitmq.Config{URL: p.url, Heartbeat: 2 * time.Second}
	for _, f := range change {
		f(&conf)
	}
	b, err := rabbitmq.Open(p.Context(), conf)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { b.Close() })
	return b
}

// notices collects what a session tells.
type notices struct {
	mu  sync.Mutex
	all []broker.Notice
}

func (n *notices) add(x broker.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, x)
}

func (n *notices) of(kind broker.NoticeKind) (texts []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range n.all {
		if x.Kind == kind {
			texts = append(texts, x.Text)
		}
	}
	return texts
}

func (p *place) session(b *rabbitmq.Broker, sub broker.Subscription) broker.Session {
	p.Helper()
	s, err := b.Open(p.Context(), sub)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { closeSession(p, s) })
	return s
}

func closeSession(p *place, s broker.Session) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		p.Error(err)
	}
}

func (p *place) consume(s broker.Session, prefetch int) {
	p.Helper()
	if err := s.Consume(p.Context(), prefetch); err != nil {
		p.Fatal(err)
	}
}

func (p *place) receive(s broker.Session) broker.Delivery {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	d, err := s.Receive(ctx)
	if err != nil {
		p.Fatalf("receive: %v (session: %v)", err, s.Err())
	}
	return d
}

// settle settles and returns the outcome.
func (p *place) settle(d broker.Delivery, s broker.Settlement) error {
	p.Helper()
	done := make(chan error, 1)
	d.Settle(s, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		p.Fatalf("settlement %v did not end", s.Fate)
		return nil
	}
}

func (p *place) mustSettle(d broker.Delivery, s broker.Settlement) {
	p.Helper()
	if err := p.settle(d, s); err != nil {
		p.Fatalf("%v: %v", s.Fate, err)
	}
}

// ended waits for the session's end and returns the reason.
func (p *place) ended(s broker.Session, within time.Duration) error {
	p.Helper()
	select {
	case <-s.Done():
		return s.Err()
	case <-time.After(within):
		p.Fatalf("the session did not end within %v", within)
		return nil
	}
}

func wantErr(t testing.TB, err, class error, texts ...string) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Fatalf("got %v, want class %v", err, class)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

// capture is what the core would record for a first failure of d.
func capture(d broker.Delivery) *broker.Capture {
	m, now := d.Message(), time.Now()
	return &broker.Capture{
		ID: "capture-1", Attempt: m.Attempt + 1, Lap: m.Lap, Crashes: d.Facts().Crashes, Error: "no such customer",
		Origin: m.Origin, FirstFailedAt: now, FailedAt: now, Host: "here",
	}
}

func (p *place) api(suffix string, out any) {
	p.Helper()
	p.broker.Management(p, http.MethodGet, path.Join("/api", suffix), nil, out)
}
