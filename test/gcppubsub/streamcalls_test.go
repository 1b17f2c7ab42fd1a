package gcppubsub

import (
	"context"
	"testing"

	"google.golang.org/api/option"
	"google.golang.org/grpc"

	"github.com/holdfast-mq/holdfast/broker"
	driver "github.com/holdfast-mq/holdfast/broker/gcppubsub"
)

// callStream is what a client sends on its stream: to open it, and whatever else.
const callStream = "StreamingPull"

// interceptStream counts what goes out on streams.
func (m *meter) interceptStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := streamer(ctx, desc, cc, method, opts...)
	return &meteredStream{s, m}, err
}

type meteredStream struct {
	grpc.ClientStream
	meter *meter
}

func (s *meteredStream) SendMsg(m any) error {
	s.meter.mu.Lock()
	s.meter.calls[callStream]++
	s.meter.mu.Unlock()
	return s.ClientStream.SendMsg(m)
}

// TestCalls_of_a_stream is [TestCalls] where messages are sent: a delivery costs no request of its own.
func TestCalls_of_a_stream(t *testing.T) {
	for _, policy := range []bool{true, false} {
		k := kind{mode: driver.ModeStreaming, policy: policy}
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			m := &meter{calls: map[string]int{}}
			s := newStation(t, k)
			at := s.sit(t, s.newQueue(t), func(c *driver.Config) {
				c.Options = []option.ClientOption{
					option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(m.intercept)),
					option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(m.interceptStream)),
				}
			})
			s.publish(t, at.queue, &broker.Message{Body: []byte("the session's first")})
			must(t, settle(t, at.receive(), done))
			if n := m.reset()[callStream]; n != 1 {
				t.Errorf("the stream was asked for %d times", n)
			}
			retry := map[string]int{"ModifyAckDeadline": 1}
			if !policy {
				retry = map[string]int{"Publish": 1, "Acknowledge": 1}
			}
			at.costs(m, "done", done, map[string]int{"Acknowledge": 1})
			at.costs(m, "discard", broker.Settlement{Fate: broker.FateDiscard}, map[string]int{"Acknowledge": 1})
			at.costs(m, "park", at.stamped(broker.FatePark, 1), map[string]int{"Publish": 1, "Acknowledge": 1})
			at.costs(m, "retry", at.stamped(broker.FateDelay, 2), retry)
		})
	}
}
