package gcppubsub

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-mq/holdfast/bench/readers"
	"github.com/holdfast-mq/holdfast/broker"
)

// plainRead is [newDelivery] without the count.
func plainRead(s *session, r *pubsubpb.ReceivedMessage, from flow) (*broker.Message, broker.Facts) {
	now := time.Now()
	raw := r.GetMessage()
	d := &delivery{session: s, raw: raw, ackID: r.GetAckId(), flow: from, message: read(raw), received: now, touched: now}
	c, err := capture(raw.GetAttributes(), s.source.queue)
	d.facts = broker.Facts{Capture: c, CaptureErr: err, Oversize: len(raw.GetAttributes()) > maxAttributes-reserve}
	if c != nil {
		d.message.Lap = c.Lap
	}
	d.message.Origin = origin(raw, c, s.names().shortTopic(s.source.topic), s.source.queue)
	return &d.message, d.facts
}

// readerCase reads messages as a pull or a stream brings them.
func readerCase(tb testing.TB, name string, counted bool, counter int32, stamp *broker.Capture, attempt, crashes int) readers.Case {
	tb.Helper()
	s := reader(counted)
	list := make([]*pubsubpb.ReceivedMessage, readers.Messages)
	for i := range list {
		list[i] = received(tb, counter, stamp)
		list[i].AckId = fmt.Sprintf("projects/p/subscriptions/orders:%d", i)
		m := list[i].GetMessage()
		m.Data, m.MessageId, m.PublishTime = bytes.Repeat([]byte("a"), 256), fmt.Sprint(i), timestamppb.Now()
	}
	return readers.Case{
		Name: name, Attempt: attempt, Crashes: crashes,
		Counted: func(i int) (*broker.Message, broker.Facts) {
			d := newDelivery(s, list[i], flowSource)
			return d.Message(), d.Facts()
		},
		Plain: func(i int) (*broker.Message, broker.Facts) { return plainRead(s, list[i], flowSource) },
	}
}

func TestReader_allocates_nothing_for_the_count(t *testing.T) {
	now := time.Now().UTC()
	c := &broker.Capture{
		ID: "id", Attempt: 3, Lap: 1, Crashes: 2, Error: "no", Origin: broker.Origin{Queue: "orders"}, FirstFailedAt: now, FailedAt: now,
	}
	readers.Check(t,
		readerCase(t, "again", true, 3, nil, 3, 0),
		readerCase(t, "first", true, 1, nil, 1, 0),
		readerCase(t, "a copy again", true, 3, c, 5, 2),
		readerCase(t, "without a policy", false, 0, nil, 1, 0),
		readerCase(t, "a copy without a policy", false, 0, c, 3, 2),
	)
}

func BenchmarkReader(b *testing.B) { readers.Benchmark(b, readerCase(b, "again", true, 3, nil, 3, 0)) }
