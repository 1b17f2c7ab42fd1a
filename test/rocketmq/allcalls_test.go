package rocketmq

import (
	"maps"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rocketmq"
)

// What a session asks for by the clock, however many deliveries there are: beside what it has, and that it is there.
const (
	callPop       = 200050
	callHeartbeat = 34
)

// all returns everything that was counted since the last time and that a clock did not ask for.
func (c *counter) all() map[int]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := maps.Clone(c.calls)
	delete(taken, callPop)
	delete(taken, callHeartbeat)
	clear(c.calls)
	return taken
}

// TestCalls_of_many: of the messages that one client has, each costs its one request and nothing else is asked, for the count
// or for anything.
func TestCalls_of_many(t *testing.T) {
	const each = 10
	s := newScene(t, Start(t))
	queue := s.newQueue(t)
	c := &counter{calls: map[int]int{}}
	b, err := rocketmq.Open(t.Context(), rocketmq.Config{URL: s.server.URL(), Dial: c.dial})
	if err != nil {
		t.Fatal(err)
	}
	defer closeBroker(t, b)
	session := consume(t, b, queue, 3*each)
	s.publish(t, queue, &broker.Message{Body: []byte("the session's first")})
	settle(t, receive(t, session), broker.Settlement{Fate: broker.FateDone})
	c.all()
	for range 2 * each {
		s.publish(t, queue, &broker.Message{Body: []byte("a")})
	}
	for i := range 2 * each {
		set := broker.Settlement{Fate: broker.FateDone}
		if i%2 == 1 {
			set = broker.Settlement{Fate: broker.FateDelay, Delay: rung, Capture: capture(queue)}
		}
		settle(t, receive(t, session), set)
	}
	want := map[int]int{callAck: each, callHide: each}
	if got := c.all(); !maps.Equal(got, want) {
		t.Errorf("%d done and %d retried: %v, not %v", each, each, got, want)
	}
}
