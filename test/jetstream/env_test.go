package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker/jetstream"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/test/natsserver"
)

const (
	// patience is how long a test waits for what must happen.
	patience = 20 * time.Second

	// quiet is how long it watches for what must not happen.
	quiet = 700 * time.Millisecond

	// ackWait is how long a message stays with a consumer that is gone: long,
	// so that a busy machine changes nothing.
	ackWait = 30 * time.Second

	workStream   = "holdfast-work"
	parkedStream = "holdfast-parked"
)

// place is a server of a test's own, with a plain client that does there what
// producers, owners and operators do.
type place struct {
	*testing.T
	url  string
	conn *nats.Conn
	js   natsjs.JetStream
}

// newPlace starts a server that is another process.
func newPlace(t *testing.T) *place {
	t.Helper()
	return at(t, natsserver.Start(t).URL())
}

// at is the place of a server that runs.
func at(t *testing.T, url string, options ...nats.Option) *place {
	t.Helper()
	p := &place{T: t, url: url}
	p.connect(options...)
	return p
}

// connect makes the plain client, and makes it again after a restart.
func (p *place) connect(options ...nats.Option) {
	p.Helper()
	conn, err := nats.Connect(p.url, options...)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(conn.Close)
	if p.js, err = natsjs.New(conn); err != nil {
		p.Fatal(err)
	}
	p.conn = conn
}

// ctx bounds one request of the plain client. It is not the test's own, which
// ends before the cleanups.
func (p *place) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	p.Cleanup(cancel)
	return ctx
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// stream makes a stream whose subjects begin with its name in small letters.
func (p *place) stream(name string, change ...func(*natsjs.StreamConfig)) {
	p.Helper()
	cfg := natsjs.StreamConfig{Name: name, Subjects: []string{strings.ToLower(name) + ".>"}, Retention: natsjs.WorkQueuePolicy}
	for _, f := range change {
		f(&cfg)
	}
	_, err := p.js.CreateStream(p.ctx(), cfg)
	p.must(err)
}

// consumer makes a durable pull consumer.
func (p *place) consumer(stream, name string, change ...func(*natsjs.ConsumerConfig)) {
	p.Helper()
	cfg := natsjs.ConsumerConfig{Durable: name, AckPolicy: natsjs.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1}
	for _, f := range change {
		f(&cfg)
	}
	_, err := p.js.CreateOrUpdateConsumer(p.ctx(), stream, cfg)
	p.must(err)
}

// waiting makes a consumer less patient.
func waiting(d time.Duration) func(*natsjs.ConsumerConfig) {
	return func(c *natsjs.ConsumerConfig) { c.AckWait = d }
}

// queue makes the stream ORDERS, a work queue, and its consumer, and returns
// the queue's name.
func (p *place) queue(change ...func(*natsjs.ConsumerConfig)) string {
	p.Helper()
	p.stream("ORDERS")
	p.consumer("ORDERS", "billing", change...)
	return "ORDERS/billing"
}

// publish publishes bodies under orders.in.
func (p *place) publish(bodies ...string) {
	p.Helper()
	for _, body := range bodies {
		p.send("orders.in", body)
	}
}

func (p *place) send(subject, body string) {
	p.Helper()
	_, err := p.js.Publish(p.ctx(), subject, []byte(body))
	p.must(err)
}

// open opens the driver.
func (p *place) open(change ...func(*jetstream.Config)) *jetstream.Broker {
	p.Helper()
	conf := jetstream.Config{URL: p.url}
	for _, f := range change {
		f(&conf)
	}
	b, err := jetstream.Open(p.Context(), conf)
	p.must(err)
	p.Cleanup(func() { b.Close() })
	return b
}

func via(url string) func(*jetstream.Config) {
	return func(c *jetstream.Config) { c.URL = url }
}

func (p *place) streamInfo(name string) *natsjs.StreamInfo {
	p.Helper()
	s, err := p.js.Stream(p.ctx(), name)
	p.must(err)
	info, err := s.Info(p.ctx(), natsjs.WithSubjectFilter(">"))
	p.must(err)
	return info
}

func (p *place) consumerInfo(stream, name string) *natsjs.ConsumerInfo {
	p.Helper()
	c, err := p.js.Consumer(p.ctx(), stream, name)
	p.must(err)
	return c.CachedInfo()
}

// stored counts the messages of a stream.
func (p *place) stored(stream string) int { return int(p.streamInfo(stream).State.Msgs) }

func (p *place) wantStored(stream string, n int) {
	p.Helper()
	p.eventually(fmt.Sprintf("%d messages in %s", n, stream), func() bool { return p.stored(stream) == n })
}

func (p *place) eventually(what string, ok func() bool) {
	p.Helper()
	testenv.Eventually(p, patience, what, ok)
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

func isAny(err error, classes ...error) bool {
	for _, class := range classes {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

func sameText(a, b any) bool { return fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b) }
