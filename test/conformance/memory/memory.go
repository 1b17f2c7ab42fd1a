// Package memory is what the suite of broker/brokertest must know of the broker
// in memory. Its own tests use it, and so does the table of all drivers.
package memory

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/brokertest"
	"github.com/holdfast-mq/holdfast/broker/membroker"
)

// Capabilities is what a broker in memory declares that was made without
// options.
func Capabilities() broker.Capabilities {
	return broker.Capabilities{Delay: true, Hold: true, Replies: true, Stamp: true, FreeRelease: true, Counts: true}
}

// Env is the Env of b, whose options leave it these capabilities.
func Env(name string, b *membroker.Broker, caps broker.Capabilities) brokertest.Env {
	var names atomic.Int64
	limits := &limits{}
	newName := func(kind string) string { return fmt.Sprintf("%s-%d", kind, names.Add(1)) }
	publish := func(t *testing.T, to broker.Target, m *broker.Message) {
		t.Helper()
		if err := b.Publish(t.Context(), to, m); err != nil {
			t.Fatal(err)
		}
	}
	return brokertest.Env{
		Name:         name,
		Capabilities: caps,
		Open:         func(*testing.T) broker.Broker { return client{b.Peer(), limits} },
		NewQueue: func(*testing.T) string {
			queue := newName("queue")
			b.DeclareQueue(queue)
			return queue
		},
		RecreateQueue: func(_ *testing.T, queue string) { b.DeclareQueue(queue) },
		DeleteQueue:   func(_ *testing.T, queue string) { b.DeleteQueue(queue) },
		NewTransientQueue: func(*testing.T) string {
			queue := newName("transient")
			b.DeclareTransientQueue(queue)
			return queue
		},
		NewLimitedQueue: func(_ *testing.T, limit int) string {
			queue := newName("limited")
			b.DeclareQueue(queue)
			limits.set(queue, limit)
			return queue
		},
		Publish: func(t *testing.T, queue string, m *broker.Message) {
			t.Helper()
			publish(t, broker.Target{Queue: queue}, m)
		},
		PublishVia: func(t *testing.T, queue string, m *broker.Message) (exchange, key string) {
			t.Helper()
			exchange, key = newName("exchange"), "first.key"
			b.Bind(exchange, key, queue)
			publish(t, broker.Target{Exchange: exchange, Key: key}, m)
			return exchange, key
		},
		Parked: membroker.ParkedQueue,
		Hold:   membroker.HoldQueue,
		Cut:    func(_ *testing.T, peer broker.Broker) { peer.(client).Cut() },
		Restart: func(*testing.T) {
			b.Stop()
			b.Start()
		},
		Block: func(*testing.T) func() {
			b.Block("low on memory")
			return b.Unblock
		},
		LargestBody: 1 << 20,
		Headers: map[string]any{
			"text": "naïve – 漢字", "bytes": []byte{0, 1, 0xfe, 0xff}, "yes": true, "small": int8(-1), "large": int64(1) << 60,
			"float": 1.5, "time": time.Unix(1_700_000_000, 0).UTC(), "list": []any{"a", int64(1)},
			"table": map[string]any{"inner": "value"}, "nothing": nil,
		},
	}
}
