package rabbitmq_test

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// sources are the kinds of queue that are consumed.
var sources = map[string]amqp.Table{"classic": nil, "quorum": quorum}

func eachSource(t *testing.T, f func(p *place, source string)) {
	t.Helper()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		for kind, args := range sources {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, r)
				p.declare("orders", args)
				f(p, kind)
			})
		}
	})
}

func TestDone(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, _ string) {
		s := p.session(p.open(), broker.Subscription{Queue: "orders"})
		const n = 200
		for range n {
			p.publish("", "orders", amqp.Publishing{Body: []byte("a")})
		}
		p.consume(s, 50)
		for range n {
			p.mustSettle(p.receive(s), broker.Settlement{Fate: broker.FateDone})
		}
		closeSession(p, s)
		p.wantDepth("orders", 0)
	})
}

func TestDelayGoesThroughTheRungAndNotEarly(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, _ string) {
		const delay = 400 * time.Millisecond
		s := p.session(p.open(), broker.Subscription{Queue: "orders", Rungs: []time.Duration{delay}})
		p.bind("shop", "topic", "order.*", "orders")
		p.publish("shop", "order.new", amqp.Publishing{Body: []byte("a"), Expiration: "60000"})
		p.consume(s, 10)
		d := p.receive(s)
		start := time.Now()
		p.mustSettle(d, broker.Settlement{Fate: broker.FateDelay, Delay: delay, Capture: capture(d)})
		d = p.receive(s)
		if took := time.Since(start); took < delay-2*time.Millisecond {
			p.Errorf("it came back after %v, before its %v", took, delay)
		}
		m := d.Message()
		if m.Attempt != 2 || m.Redelivered || m.Origin != (broker.Origin{Exchange: "shop", Key: "order.new", Queue: "orders"}) {
			p.Errorf("attempt %d, redelivered %v, origin %v", m.Attempt, m.Redelivered, m.Origin)
		}
		if m.Headers[broker.HeaderExpiration] != "60000" {
			p.Errorf("the expiration was not recorded: %v", m.Headers)
		}
		if _, there := m.Headers["x-holdfast-seq"]; there {
			p.Error("the driver's own number is shown")
		}
		p.mustSettle(d, broker.Settlement{Fate: broker.FateDone})
	})
}

func TestParkKeepsBodyAndHeaders(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, _ string) {
		s := p.session(p.open(), broker.Subscription{Queue: "orders"})
		body := []byte{0, 1, 0xff, 0xfe, '\n'}
		at := time.Unix(1_700_000_000, 0)
		headers := amqp.Table{
			"text": "größe ✓", "bytes": []byte{0, 0xff}, "nil": nil, "bool": true, "int8": int8(-1), "byte": byte(2),
			"int16": int16(-3), "uint16": uint16(4), "int32": int32(-5), "uint32": uint32(6), "int64": int64(-7),
			"float32": float32(1.5), "float64": 2.5, "time": at, "decimal": amqp.Decimal{Scale: 2, Value: 12345},
			"table": amqp.Table{"in": amqp.Table{"n": int64(1)}}, "array": []any{"a", int32(1), amqp.Table{"k": nil}},
			"x-death": []any{amqp.Table{"queue": "orders", "reason": "expired", "exchange": "", "count": int64(1)}},
		}
		p.publish("", "orders", amqp.Publishing{
			Body: body, Headers: headers, ContentType: "application/x", ContentEncoding: "none", CorrelationId: "c", ReplyTo: "r",
			MessageId: "m", Type: "t", AppId: "app", UserId: "guest", Timestamp: at, Priority: 3, DeliveryMode: amqp.Transient,
		})
		p.consume(s, 1)
		d := p.receive(s)
		c := capture(d)
		c.Reason = broker.ReasonVerdict
		p.mustSettle(d, broker.Settlement{Fate: broker.FatePark, Capture: c})
		got := p.get("orders.parked")
		if !bytes.Equal(got.Body, body) {
			p.Errorf("body %v", got.Body)
		}
		if !got.Timestamp.Equal(at) {
			p.Errorf("timestamp %v", got.Timestamp)
		}
		want := amqp.Publishing{
			ContentType: "application/x", ContentEncoding: "none", CorrelationId: "c", ReplyTo: "r",
			MessageId: "m", Type: "t", AppId: "app", UserId: "guest", Priority: 3, DeliveryMode: amqp.Persistent,
		}
		if properties := propertiesOf(got); !reflect.DeepEqual(properties, want) {
			p.Errorf("properties %+v", properties)
		}
		delete(headers, "x-death")
		for name, v := range headers {
			if !sameField(got.Headers[name], v) {
				p.Errorf("header %s: %#v, want %#v", name, got.Headers[name], v)
			}
		}
		if got.Headers["x-death"] != nil {
			p.Error("x-death stayed")
		}
		if got.Headers[broker.HeaderReason] != "verdict" || got.Headers[broker.HeaderError] != "no such customer" {
			p.Errorf("capture: %v", got.Headers)
		}
	})
}

// propertiesOf is all of d but its body, its headers and its time.
func propertiesOf(d amqp.Delivery) amqp.Publishing {
	return amqp.Publishing{
		ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo,
		MessageId: d.MessageId, Type: d.Type, AppId: d.AppId, UserId: d.UserId, Priority: d.Priority,
		DeliveryMode: d.DeliveryMode, Expiration: d.Expiration,
	}
}

// TestExpirationDoesNotCutTheRungShort: the broker takes the shorter of both
// times, so that a copy with its expiration would be back at once, or gone.
func TestExpirationDoesNotCutTheRungShort(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, _ string) {
		const delay = 500 * time.Millisecond
		s := p.session(p.open(), broker.Subscription{Queue: "orders", Rungs: []time.Duration{delay}})
		p.consume(s, 1)
		p.publish("", "orders", amqp.Publishing{Body: []byte("a"), Expiration: "50"})
		d := p.receive(s)
		start := time.Now()
		p.mustSettle(d, broker.Settlement{Fate: broker.FateDelay, Delay: delay, Capture: capture(d)})
		d = p.receive(s)
		if took := time.Since(start); took < delay-2*time.Millisecond {
			p.Errorf("it came back after %v, before its %v", took, delay)
		}
		if got := d.Message().Headers[broker.HeaderExpiration]; string(d.Message().Body) != "a" || got != "50" {
			p.Errorf("came back as %+v", d.Message())
		}
		p.mustSettle(d, broker.Settlement{Fate: broker.FateDone})
	})
}

// TestCycleIsDropped shows what rungs have a fanout exchange for. A queue with
// a TTL that leads back to itself is a cycle: the broker drops what was
// published by the queue's name when its time is up, and says nothing.
func TestCycleIsDropped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		const ttl = int64(200)
		p.declare("home", nil)
		p.declare("cycle", amqp.Table{"x-message-ttl": ttl, "x-dead-letter-exchange": ""})
		p.declare("control", amqp.Table{"x-message-ttl": ttl, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "home"})
		for range 2 {
			p.publish("", "cycle", amqp.Publishing{Body: []byte("a")})
			p.wantDepth("cycle", 1)
			p.publish("", "control", amqp.Publishing{Body: []byte("a")})
			p.get("home") // later than the other's time was up
			p.wantDepth("cycle", 0)
		}
	})
}

// TestAcksBeforeAClose settles every other of many deliveries and closes at
// once. A quorum queue takes some thirty acknowledgements at a time, and the
// broker forgets the rest when the channel is closed: done would be done again.
func TestAcksBeforeAClose(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, _ string) {
		const n = 200
		p.fill("orders", n)
		s := p.session(p.open(), broker.Subscription{Queue: "orders"})
		p.consume(s, n)
		settled := make(chan error, n)
		for i := range n {
			if d := p.receive(s); i%2 == 0 {
				d.Settle(broker.Settlement{Fate: broker.FateDone}, func(err error) { settled <- err })
			}
		}
		for range n / 2 {
			if err := <-settled; err != nil {
				p.Error(err)
			}
		}
		closeSession(p, s)
		p.wantDepth("orders", n/2)
		seen := map[int]bool{}
		for _, i := range p.numbers("orders") {
			if seen[i] = true; i%2 == 0 {
				p.Errorf("message %d came back although it was settled", i)
			}
		}
		if len(seen) != n/2 {
			p.Errorf("%d came back", len(seen))
		}
	})
}
