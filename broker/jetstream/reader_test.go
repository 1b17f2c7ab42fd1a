package jetstream

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/bench/readers"
	"github.com/holdfast-mq/holdfast/broker"
)

// plainRead is [newDelivery] without the count. The client reads the counter beside the sequence, which is needed in
// any case.
func plainRead(s *session, raw *nats.Msg, from flow) (*broker.Message, broker.Facts) {
	meta, err := raw.Metadata()
	if err != nil {
		panic(err) // the reply subjects below are at fault
	}
	d := &delivery{
		session: s, raw: raw, flow: from, message: read(raw.Header, raw.Data),
		seq: meta.Sequence.Stream, stored: meta.Timestamp.UnixNano(), touched: time.Now(),
	}
	queue := s.sub.Queue
	c, err := capture(raw.Header, queue)
	d.facts = broker.Facts{Capture: c, CaptureErr: err}
	d.message.Origin = origin(raw.Header, c, meta.Stream, raw.Subject, queue, from)
	if c != nil {
		d.message.Lap = c.Lap
	}
	return &d.message, d.facts
}

// readerCase reads messages as a pull brings them: the counter is in the subject of the ack.
func readerCase(tb testing.TB, name string, from flow, delivered int, stamp *broker.Capture, attempt, crashes int) readers.Case {
	tb.Helper()
	s := &session{sub: broker.Subscription{Queue: "ORDERS/billing"}}
	list := make([]*nats.Msg, readers.Messages)
	for i := range list {
		h, body := nats.Header{"own": {"kept"}}, bytes.Repeat([]byte("a"), 256)
		if stamp != nil {
			m, err := captured("orders.new", h, body, stamp, 1<<20)
			if err != nil {
				tb.Fatal(err)
			}
			h = m.Header
		}
		list[i] = &nats.Msg{
			Subject: "orders.new", Header: h, Data: body, Sub: &nats.Subscription{},
			Reply: fmt.Sprintf("$JS.ACK.ORDERS.billing.%d.%d.%d.%d.%d", delivered, i+1, i+delivered, time.Now().UnixNano(), readers.Messages-i),
		}
	}
	return readers.Case{
		Name: name, Attempt: attempt, Crashes: crashes,
		Counted: func(i int) (*broker.Message, broker.Facts) {
			d, err := newDelivery(s, list[i], from)
			if err != nil {
				panic(err) // the reply subjects above are at fault
			}
			return d.Message(), d.Facts()
		},
		Plain: func(i int) (*broker.Message, broker.Facts) { return plainRead(s, list[i], from) },
	}
}

func TestReader_allocates_nothing_for_the_count(t *testing.T) {
	now := time.Now().UTC()
	c := &broker.Capture{
		ID: "id", Attempt: 3, Lap: 1, Crashes: 2, Error: "no", Origin: broker.Origin{Queue: "ORDERS/billing"}, FirstFailedAt: now, FailedAt: now,
	}
	readers.Check(t,
		readerCase(t, "again", flowSource, 3, nil, 1, 2),
		readerCase(t, "first", flowSource, 1, nil, 1, 0),
		readerCase(t, "a copy again", flowBack, 3, c, 3, 4),
		readerCase(t, "no counter", flowSource, 0, nil, 1, 0),
	)
}

func BenchmarkReader(b *testing.B) {
	readers.Benchmark(b, readerCase(b, "again", flowSource, 3, nil, 1, 2))
}
