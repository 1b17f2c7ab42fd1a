package demo

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
)

const queue = "orders"

// memStage is a stage in memory.
type memStage struct {
	*membroker.Broker

	mu   sync.Mutex
	sent map[string]bool
}

func newMemStage(t *testing.T) *memStage {
	s := &memStage{Broker: membroker.New(membroker.WithoutFreeRelease), sent: map[string]bool{}}
	s.DeclareQueue(queue)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (s *memStage) Queue() string { return queue }

func (s *memStage) Send(ctx context.Context, id string, body []byte) error {
	s.mu.Lock()
	known := s.sent[id]
	s.sent[id] = true
	s.mu.Unlock()
	if known {
		return nil
	}
	return s.Publish(ctx, broker.Target{Queue: queue}, &broker.Message{ID: id, Body: body})
}

func (s *memStage) Underway(context.Context) (int, error) {
	n := 0
	for _, q := range s.Queues() {
		if !strings.HasSuffix(q, ".parked") {
			n += len(s.Messages(q))
		}
	}
	return n, nil
}
