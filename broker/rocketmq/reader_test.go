package rocketmq

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/bench/readers"
	"github.com/holdfast-mq/holdfast/broker"
)

// plainRead is [newDelivery] without the count.
func plainRead(s *session, raw *record, h handle) (*broker.Message, broker.Facts) {
	d := &delivery{session: s, raw: raw, message: raw.message(), number: arrivals.Add(1), handle: h, touched: time.Now()}
	c, err := raw.properties.capture(s.source.String())
	d.facts = broker.Facts{Capture: c, CaptureErr: err, Oversize: raw.properties.size() > maxHeaders}
	d.message.Origin = raw.origin(c, s.source.source)
	if c != nil {
		d.message.Lap = c.Lap
	}
	return &d.message, d.facts
}

// readerCase reads records in the bytes in which a broker's answer to a pop has them.
func readerCase(tb testing.TB, name string, reconsumed int, stamp *broker.Capture, attempt, crashes int) readers.Case {
	tb.Helper()
	s := &session{source: found{source: source{topic: "orders", group: "billing"}}}
	list := make([][]byte, readers.Messages)
	for i := range list {
		m := &record{
			topic: "orders", queue: 1, offset: int64(i), physical: int64(i) << 9, born: 1, stored: 2, reconsumed: reconsumed,
			body: bytes.Repeat([]byte("a"), 256),
			properties: properties{
				propertyID: fmt.Sprintf("%032X", i), propertyTags: "new", "own": "kept", "POP_CK": "0 1 2 3 4 broker-a 1 5",
				"1ST_POP_TIME": "1", "MIN_OFFSET": "0", "MAX_OFFSET": "1000",
			},
		}
		if stamp != nil {
			stamp.Each(m.properties.set)
		}
		list[i] = encoded(*m)
	}
	one := func(i int) *record {
		records, err := readRecords(list[i])
		if err != nil {
			panic(err) // the bytes above are at fault
		}
		return &records[0]
	}
	return readers.Case{
		Name: name, Attempt: attempt, Crashes: crashes,
		Counted: func(i int) (*broker.Message, broker.Facts) {
			d := newDelivery(s, one(i), handle{})
			return d.Message(), d.Facts()
		},
		Plain: func(i int) (*broker.Message, broker.Facts) { return plainRead(s, one(i), handle{}) },
	}
}

func TestReader_allocates_nothing_for_the_count(t *testing.T) {
	now := time.Now().UTC()
	c := &broker.Capture{
		ID: "id", Attempt: 3, Lap: 1, Crashes: 2, Error: "no", Origin: broker.Origin{Queue: "orders/billing"}, FirstFailedAt: now, FailedAt: now,
	}
	readers.Check(t,
		readerCase(t, "again", 2, nil, 3, 0),
		readerCase(t, "first", 0, nil, 1, 0),
		readerCase(t, "a copy again", 2, c, 5, 2),
		readerCase(t, "a negative counter", -1, nil, 1, 0),
	)
}

func BenchmarkReader(b *testing.B) { readers.Benchmark(b, readerCase(b, "again", 2, nil, 3, 0)) }
