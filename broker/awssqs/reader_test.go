package awssqs

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/holdfast-mq/holdfast/bench/readers"
	"github.com/holdfast-mq/holdfast/broker"
)

// plainRead is [open] and [newDelivery] without the count: raw has no counter, and nothing is resolved.
func plainRead(s *session, raw types.Message, now time.Time) (*broker.Message, broker.Facts) {
	l := open(raw, s.broker.conf.KeepEnvelopes)
	d := &delivery{
		session: s, letter: l, message: l.view(), until: now.Add(sure(s.broker.conf.Lease)), wall: now.Add(longestHidden - wallMargin),
	}
	c, err := l.capture(s.sub.Queue)
	d.facts = broker.Facts{Capture: c, CaptureErr: err, Oversize: l.oversize()}
	d.message.Origin = l.origin(c, s.sub.Queue)
	if c != nil {
		d.message.Lap = c.Lap
	}
	return &d.message, d.facts
}

// readerCase reads messages as a receive brings them. Without receives there is no counter.
func readerCase(tb testing.TB, name string, receives string, change func(*types.Message), attempt, crashes int) readers.Case {
	tb.Helper()
	s := &session{broker: &Broker{conf: Config{Lease: time.Minute}}, sub: broker.Subscription{Queue: "orders"}}
	counted, plain := make([]types.Message, readers.Messages), make([]types.Message, readers.Messages)
	for i := range counted {
		m := types.Message{
			MessageId: aws.String(fmt.Sprintf("message-%d", i)), ReceiptHandle: aws.String(fmt.Sprintf("receipt-%d", i)),
			Body: aws.String(strings.Repeat("a", 256)), MessageAttributes: attributes{"own": textAttribute("kept")},
			Attributes: map[string]string{
				sysSent: "1700000000000", "SenderId": "AIDA", "ApproximateFirstReceiveTimestamp": "1700000000001",
			},
		}
		change(&m)
		plain[i] = m
		m.Attributes = maps.Clone(m.Attributes)
		if receives != "" {
			m.Attributes[sysReceives] = receives
		}
		counted[i] = m
	}
	now := time.Now()
	return readers.Case{
		Name: name, Attempt: attempt, Crashes: crashes,
		Counted: func(i int) (*broker.Message, broker.Facts) {
			d := newDelivery(s, open(counted[i], s.broker.conf.KeepEnvelopes), now)
			return d.Message(), d.Facts()
		},
		Plain: func(i int) (*broker.Message, broker.Facts) { return plainRead(s, plain[i], now) },
	}
}

func unchanged(*types.Message) {}

func TestReader_allocates_nothing_for_the_count(t *testing.T) {
	c := &broker.Capture{ID: "id", Attempt: 3, Lap: 1, Crashes: 2, Error: "no", Origin: broker.Origin{Queue: "orders"}, FailedAt: time.Now()}
	fields := map[string]any{}
	c.Each(func(name string, v any) { fields[name] = v })
	stamp, err := (&packed{Fields: fields, ID: "first"}).attribute()
	if err != nil {
		t.Fatal(err)
	}
	readers.Check(t,
		readerCase(t, "again", "3", unchanged, 3, 0),
		readerCase(t, "first", "1", unchanged, 1, 0),
		readerCase(t, "a copy again", "3", func(m *types.Message) { m.MessageAttributes[packedName] = stamp }, 5, 2),
		readerCase(t, "again from SNS", "3", func(m *types.Message) {
			m.Body = aws.String(`{"Type":"Notification","MessageId":"a","TopicArn":"arn:aws:sns:x:1:t","Message":"a",` +
				`"MessageAttributes":{"own":{"Type":"String","Value":"kept"}}}`)
			m.MessageAttributes = nil
		}, 3, 0),
		readerCase(t, "no counter", "", unchanged, 1, 0),
	)
}

func BenchmarkReader(b *testing.B) {
	readers.Benchmark(b, readerCase(b, "again", "3", unchanged, 3, 0))
}
