package rabbitmq

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/bench/readers"
	"github.com/holdfast-mq/holdfast/broker"
)

// plainRead is how a session reads, without what [delivery.Facts] makes of the counter.
func plainRead(s *session, m *amqp.Delivery) (*broker.Message, broker.Facts) {
	d := &delivery{session: s, tag: m.DeliveryTag}
	d.read(m, s.sub.Queue)
	d.readCapture(s.sub.Queue)
	return &d.msg, broker.Facts{
		Redelivered: d.msg.Redelivered, Capture: d.capture, CaptureErr: d.captureErr,
		Oversize: len(d.msg.Headers) > 0 && oversize(d.hopSize()),
	}
}

// capturedDeliveries are what came as the client decodes them: a table of the types of AMQP.
func capturedDeliveries(redelivered bool, headers func() amqp.Table) []amqp.Delivery {
	list := make([]amqp.Delivery, readers.Messages)
	for i := range list {
		list[i] = amqp.Delivery{
			Headers: headers(), Body: bytes.Repeat([]byte("a"), 256), MessageId: fmt.Sprint(i), ContentType: "application/json",
			DeliveryMode: amqp.Persistent, ConsumerTag: "tag", DeliveryTag: uint64(i + 1), Redelivered: redelivered,
			Exchange: "orders", RoutingKey: "orders.new",
		}
	}
	return list
}

func readerCase(name string, source kind, list []amqp.Delivery, attempt, crashes int) readers.Case {
	s := &session{sub: broker.Subscription{Queue: "orders"}, source: source}
	return readers.Case{
		Name: name, Attempt: attempt, Crashes: crashes,
		Counted: func(i int) (*broker.Message, broker.Facts) {
			d := s.deliver(&list[i])
			return d.Message(), d.Facts()
		},
		Plain: func(i int) (*broker.Message, broker.Facts) { return plainRead(s, &list[i]) },
	}
}

func readerCases() []readers.Case {
	fresh := func() amqp.Table { return amqp.Table{"own": "kept"} }
	counted := func() amqp.Table {
		return amqp.Table{"own": "kept", headerDeliveryCount: int64(2), headerAcquiredCount: int64(3)}
	}
	now := time.Now().UTC()
	c := &broker.Capture{
		ID: "id", Attempt: 3, Lap: 1, Crashes: 2, Error: "no", Origin: broker.Origin{Queue: "orders"}, FirstFailedAt: now, FailedAt: now,
	}
	copied := func() amqp.Table {
		table := counted()
		c.Each(func(name string, v any) { table[name] = v })
		table[headerDeath] = []any{amqp.Table{deathQueue: "rung", "count": int64(1)}}
		return table
	}
	return []readers.Case{
		readerCase("again", kindQuorum, capturedDeliveries(true, counted), 1, 2),
		readerCase("first", kindQuorum, capturedDeliveries(false, fresh), 1, 0),
		readerCase("a copy again", kindQuorum, capturedDeliveries(true, copied), 3, 4),
		readerCase("again on a classic queue", kindClassic, capturedDeliveries(true, fresh), 1, 1),
	}
}

func TestReader_allocates_nothing_for_the_count(t *testing.T) { readers.Check(t, readerCases()...) }

func BenchmarkReader(b *testing.B) { readers.Benchmark(b, readerCases()[0]) }
