package rocketmq

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"maps"
	"net"
	"sync"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rocketmq"
)

// What the driver asks of a broker for a delivery.
const (
	callAck  = 200051
	callHide = 200053
	callSend = askSend
)

// counter counts the requests of one client by what they ask. Each is one
// write.
type counter struct {
	mu    sync.Mutex
	calls map[int]int
}

func (c *counter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	return &counted{conn, c}, err
}

type counted struct {
	net.Conn
	counter *counter
}

func (c *counted) Write(frame []byte) (int, error) {
	var head struct{ Code int }
	if json.Unmarshal(frame[8:8+binary.BigEndian.Uint32(frame[4:8])], &head) == nil {
		c.counter.mu.Lock()
		c.counter.calls[head.Code]++
		c.counter.mu.Unlock()
	}
	return c.Conn.Write(frame)
}

// take returns what was counted for deliveries since the last time.
func (c *counter) take() map[int]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := map[int]int{}
	for _, code := range []int{callAck, callHide, callSend} {
		if n := c.calls[code]; n > 0 {
			taken[code] = n
		}
	}
	clear(c.calls)
	return taken
}

// TestCalls is what each fate costs in requests, beside the pop that brought
// the delivery and up to 31 others.
func TestCalls(t *testing.T) {
	s := newScene(t, Start(t))
	queue := s.newQueue(t)
	c := &counter{calls: map[int]int{}}
	b, err := rocketmq.Open(t.Context(), rocketmq.Config{URL: s.server.URL(), Dial: c.dial})
	if err != nil {
		t.Fatal(err)
	}
	defer closeBroker(t, b)
	session := consume(t, b, queue, 1)
	s.publish(t, queue, &broker.Message{Body: []byte("a")})
	for _, tc := range []struct {
		name string
		set  broker.Settlement
		want map[int]int
	}{
		{"a rung", broker.Settlement{Fate: broker.FateDelay, Delay: rung, Capture: capture(queue)}, map[int]int{callHide: 1}},
		{"a release", broker.Settlement{Fate: broker.FateRelease}, map[int]int{callHide: 1}},
		{"a stamped release", broker.Settlement{Fate: broker.FateRelease, Capture: capture(queue)}, map[int]int{callSend: 1, callAck: 1}},
		{"a hold", broker.Settlement{Fate: broker.FateHold, Capture: capture(queue)}, map[int]int{callSend: 1, callAck: 1}},
		{"a park", broker.Settlement{Fate: broker.FatePark, Capture: capture(queue)}, map[int]int{callSend: 1, callAck: 1}},
		{"done", broker.Settlement{Fate: broker.FateDone}, map[int]int{callAck: 1}},
	} {
		d := receive(t, session)
		c.take()
		settle(t, d, tc.set)
		if got := c.take(); !maps.Equal(got, tc.want) {
			t.Errorf("%s: %v, not %v", tc.name, got, tc.want)
		}
		if tc.set.Fate == broker.FatePark {
			s.publish(t, queue, &broker.Message{Body: []byte("b")})
		}
	}
}
