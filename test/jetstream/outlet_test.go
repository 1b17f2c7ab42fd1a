package jetstream_test

import (
	"context"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/jetstream"
	"github.com/holdfast-mq/holdfast/test/faultproxy"
)

func (p *place) outlet(b *jetstream.Broker, stream string) broker.Outlet {
	p.Helper()
	o, err := b.OpenOutlet(p.ctx(), stream, nil)
	p.must(err)
	return o
}

// hand publishes one message and returns where its outcome will come.
func hand(o broker.Outlet, key string, m *broker.Message) <-chan error {
	outcome := make(chan error, 2)
	o.Publish(key, m, func(err error) { outcome <- err })
	return outcome
}

func (p *place) outcome(c <-chan error) error {
	p.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(patience):
		p.Fatal("a message has no outcome")
		return nil
	}
}

// TestOutletOutcomes: what is wrong with one message is said of that one.
func TestOutletOutcomes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.stream("ORDERS")
	p.stream("OTHER")
	p.stream("FULL", func(c *natsjs.StreamConfig) { c.MaxMsgs, c.Discard = 1, natsjs.DiscardNew })
	b := p.open()
	o, full := p.outlet(b, "ORDERS"), p.outlet(b, "FULL")
	large := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		o     broker.Outlet
		key   string
		m     broker.Message
		class error
	}{
		"a_subject_of_nobody":        {o, "nobody.in", broker.Message{}, broker.ErrUnrouted},
		"a_subject_of_another":       {o, "other.in", broker.Message{}, broker.ErrUnrouted},
		"no_subject":                 {o, "", broker.Message{}, broker.ErrConfig},
		"a_subject_with_a_wildcard":  {o, "orders.*", broker.Message{}, broker.ErrConfig},
		"a_body_that_is_too_large":   {o, "orders.in", broker.Message{Body: []byte(large + large)}, broker.ErrConfig},
		"headers_that_are_too_large": {o, "orders.in", broker.Message{Headers: map[string]any{"v": large[:70000]}}, broker.ErrConfig},
	} {
		if err := p.outcome(hand(c.o, c.key, &c.m)); err == nil {
			t.Errorf("%s: it was taken", name)
		} else {
			wantErr(t, err, c.class)
		}
		p.must(p.outcome(hand(o, "orders.in", &broker.Message{})))
	}
	p.must(p.outcome(hand(full, "full.in", &broker.Message{})))
	wantErr(t, p.outcome(hand(full, "full.in", &broker.Message{})), broker.ErrRefused)
	for range 2 {
		p.must(p.outcome(hand(o, "orders.in", &broker.Message{ID: "once"})))
	}
	p.wantStored("ORDERS", 7)
	p.must(p.outcome(hand(o, "orders.also", &broker.Message{ID: "once"})))
	p.wantStored("ORDERS", 8)
	p.wantStored("OTHER", 0)
	if o.Err() != nil || full.Err() != nil {
		t.Errorf("an outlet is over: %v, %v", o.Err(), full.Err())
	}
}

// TestOutletWhoseStreamIsDeleted ends, and disturbs no other.
func TestOutletWhoseStreamIsDeleted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.stream("ORDERS")
	p.stream("OTHER")
	b := p.open()
	o, other := p.outlet(b, "ORDERS"), p.outlet(b, "OTHER")
	p.must(p.outcome(hand(o, "orders.in", &broker.Message{})))
	p.must(p.js.DeleteStream(p.ctx(), "ORDERS"))
	wantErr(t, p.outcome(hand(o, "orders.in", &broker.Message{})), broker.ErrMissing)
	<-o.Done()
	wantErr(t, o.Err(), broker.ErrMissing)
	p.must(p.outcome(hand(other, "other.in", &broker.Message{})))
	_, err := b.OpenOutlet(p.ctx(), "ORDERS", nil)
	wantErr(t, err, broker.ErrMissing)
}

// TestOutletIsProven: as far as a right to subjects says something of a stream.
func TestOutletIsProven(t *testing.T) {
	t.Parallel()
	p, s := users(t, map[string][]string{"relay": {"$JS.API.STREAM.INFO.*", "some.in"}}, map[string][]string{"relay": mayHear})
	p.stream("PLAIN", func(c *natsjs.StreamConfig) { c.Subjects = []string{"plain"} })
	p.stream("SOME")
	b := p.open(as(s, "relay"))
	_, err := b.OpenOutlet(p.ctx(), "PLAIN", nil)
	wantErr(t, err, broker.ErrPermission)
	if n := p.stored("PLAIN"); n != 0 {
		t.Errorf("asking has stored %d messages", n)
	}
	o := p.outlet(b, "SOME")
	p.must(p.outcome(hand(o, "some.in", &broker.Message{})))
	wantErr(t, p.outcome(hand(o, "some.out", &broker.Message{})), broker.ErrPermission)
	<-o.Done()
	wantErr(t, o.Err(), broker.ErrPermission)
	p.must(p.outcome(hand(p.outlet(b, "SOME"), "some.in", &broker.Message{})))
}

func TestOutletToAStreamOfInterest(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.stream("ORDERS", func(c *natsjs.StreamConfig) { c.Retention = natsjs.InterestPolicy })
	_, err := p.open().OpenOutlet(p.ctx(), "ORDERS", nil)
	wantErr(t, err, broker.ErrUnsupported)
}

// TestOutletWithoutAnswers: Close ends with its context, and says what it does
// not know.
func TestOutletWithoutAnswers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.stream("ORDERS")
	proxy, through := faultproxy.Before(t, p.url)
	b := p.open(via(through))
	o := p.outlet(b, "ORDERS")
	proxy.Freeze(true)
	defer proxy.Freeze(false)
	waiting := hand(o, "orders.in", &broker.Message{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := o.Close(ctx); err == nil {
		t.Error("close says that all was published")
	}
	wantErr(t, p.outcome(waiting), broker.ErrUnknown)
	<-o.Done()
	wantErr(t, o.Err(), broker.ErrClosed)
}
