package gcppubsub

import (
	"context"
	"maps"
	"path"
	"sync"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"

	"github.com/holdfast-mq/holdfast/broker"
	driver "github.com/holdfast-mq/holdfast/broker/gcppubsub"
)

// meter counts the calls of a client by their name. A pull that brings nothing
// is not one for a delivery and not counted.
type meter struct {
	mu    sync.Mutex
	calls map[string]int
}

func (m *meter) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	if p, ok := reply.(*pubsubpb.PullResponse); ok && len(p.GetReceivedMessages()) == 0 {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[path.Base(method)]++
	return err
}

// reset returns what was counted since the last reset.
func (m *meter) reset() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls
	m.calls = map[string]int{}
	return calls
}

// TestCalls enumerates what each fate costs at the broker: nothing is added
// for the count.
func TestCalls(t *testing.T) {
	for _, policy := range []bool{true, false} {
		k := kind{mode: driver.ModePull, policy: policy}
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			m := &meter{calls: map[string]int{}}
			s := newStation(t, k)
			at := s.sit(t, s.newQueue(t), func(c *driver.Config) {
				c.Options = []option.ClientOption{option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(m.intercept))}
			})
			retry := map[string]int{"Pull": 1, "ModifyAckDeadline": 1}
			if !policy {
				retry = map[string]int{"Pull": 1, "Publish": 1, "Acknowledge": 1}
			}
			at.costs(m, "done", done, map[string]int{"Pull": 1, "Acknowledge": 1})
			at.costs(m, "discard", broker.Settlement{Fate: broker.FateDiscard}, map[string]int{"Pull": 1, "Acknowledge": 1})
			at.costs(m, "park", at.stamped(broker.FatePark, 1), map[string]int{"Pull": 1, "Publish": 1, "Acknowledge": 1})
			at.costs(m, "retry", at.stamped(broker.FateDelay, 2), retry)
		})
	}
}

func (s *seat) costs(m *meter, what string, set broker.Settlement, want map[string]int) {
	s.Helper()
	m.reset()
	s.publish(s.T, s.queue, &broker.Message{Body: []byte(what)})
	must(s.T, settle(s.T, s.receive(), set))
	if got := m.reset(); !maps.Equal(got, want) {
		s.Errorf("%s costs %v, not %v", what, got, want)
	}
}
