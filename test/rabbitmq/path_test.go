package rabbitmq_test

import (
	"bytes"
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
		p.plain.ExchangeDeclare("shop", "topic", true, false, false, false, nil)
		p.plain.QueueBind("orders", "order.*", "shop", false, nil)
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
		if got.ContentType != "application/x" || got.ContentEncoding != "none" || got.CorrelationId != "c" || got.ReplyTo != "r" ||
			got.MessageId != "m" || got.Type != "t" || got.AppId != "app" || !got.Timestamp.Equal(at) || got.Priority != 3 ||
			got.DeliveryMode != amqp.Persistent || got.UserId != "guest" {
			p.Errorf("properties: %+v", got)
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
