package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/jetstream"
)

const (
	parkedSuffix = ".parked"
	parkedStream = jetstream.DefaultNamespace + "-parked"

	// ackWait is how long a message stays with a consumer that is gone, and one
	// that lives may get no time from a busy machine: what came again for that
	// would spoil the exact books of a case.
	ackWait = 10 * time.Second

	// callTakes bounds what the plain client does.
	callTakes = 20 * time.Second
)

// jet is a server for one configuration, and a plain client that does there
// what producers and operators do.
type jet struct {
	server jetServer
	names  atomic.Int64

	mu     sync.RWMutex // held for writing while the server restarts
	client *nats.Conn
	plain  natsjs.JetStream
	cuts   map[broker.Broker]func()
}

// jetServer is where the server runs.
type jetServer interface {
	// through returns how a client reaches the server, and what ends the
	// connections of that client alone.
	through(t *testing.T) (c jetstream.Config, cut func())

	// connect is for the plain client.
	connect() (*nats.Conn, error)

	// restart returns when JetStream answers.
	restart(t *testing.T)
}

func newJet(t *testing.T, server jetServer) *jet {
	t.Helper()
	j := &jet{server: server, cuts: map[broker.Broker]func(){}}
	j.connect(t)
	t.Cleanup(func() { j.client.Close() })
	return j
}

// connect makes the plain client, and makes it again after a restart.
func (j *jet) connect(t *testing.T) {
	t.Helper()
	client, err := j.server.connect()
	if err != nil {
		t.Fatal(err)
	}
	j.client = client
	if j.plain, err = natsjs.New(client); err != nil {
		t.Fatal(err)
	}
}

// open opens the driver over connections of its own, so that they can be cut
// and no other's.
func (j *jet) open(t *testing.T) broker.Broker {
	t.Helper()
	conf, cut := j.server.through(t)
	b, err := jetstream.Open(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cuts[b] = cut
	return b
}

func (j *jet) cut(_ *testing.T, b broker.Broker) {
	j.mu.RLock()
	cut := j.cuts[b]
	j.mu.RUnlock()
	cut()
}

func (j *jet) restart(t *testing.T) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.client.Close()
	j.server.restart(t)
	j.connect(t)
}

// do uses the plain client.
func (j *jet) do(t *testing.T, what string, request func(context.Context, natsjs.JetStream) error) {
	t.Helper()
	// Not the test's own context: cleanups run after its end.
	ctx, cancel := context.WithTimeout(context.Background(), callTakes)
	defer cancel()
	j.mu.RLock()
	defer j.mu.RUnlock()
	if err := request(ctx, j.plain); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// declare makes a stream and its durable consumer, as change has it. Every
// second stream is a work queue, where what is acknowledged is gone; in the
// others it stays.
func (j *jet) declare(t *testing.T, n int64, change func(*natsjs.ConsumerConfig)) (queue string) {
	t.Helper()
	stream := fmt.Sprintf("S%d", n)
	j.do(t, "make "+stream, func(ctx context.Context, js natsjs.JetStream) error {
		retention := natsjs.LimitsPolicy
		if n%2 == 0 {
			retention = natsjs.WorkQueuePolicy
		}
		_, err := js.CreateStream(ctx, natsjs.StreamConfig{
			Name: stream, Subjects: []string{strings.ToLower(stream) + ".>"}, Retention: retention,
		})
		if err != nil {
			return err
		}
		cfg := natsjs.ConsumerConfig{Durable: "c", AckPolicy: natsjs.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1}
		change(&cfg)
		_, err = js.CreateConsumer(ctx, stream, cfg)
		return err
	})
	return stream + "/c"
}

func usual(*natsjs.ConsumerConfig) {}

func (j *jet) newQueue(t *testing.T) string {
	t.Helper()
	return j.newQueueWith(t, usual)
}

func (j *jet) newQueueWith(t *testing.T, change func(*natsjs.ConsumerConfig)) string {
	t.Helper()
	queue := j.declare(t, j.names.Add(1), change)
	t.Cleanup(func() { j.deleteQueue(t, queue) })
	return queue
}

// newTransientQueue makes a consumer that the server deletes when nobody uses
// it: of its queue nobody can say whether it will still be there.
func (j *jet) newTransientQueue(t *testing.T) string {
	t.Helper()
	return j.newQueueWith(t, func(c *natsjs.ConsumerConfig) { c.InactiveThreshold = time.Minute })
}

// newLimitedQueue makes a consumer that delivers a message so often and then
// lets it lie.
func (j *jet) newLimitedQueue(t *testing.T, limit int) string {
	t.Helper()
	return j.newQueueWith(t, func(c *natsjs.ConsumerConfig) { c.MaxDeliver = limit })
}

func (j *jet) recreateQueue(t *testing.T, queue string) {
	t.Helper()
	var n int64
	if _, err := fmt.Sscanf(queue, "S%d/", &n); err != nil {
		t.Fatalf("%q is no queue of the suite: %v", queue, err)
	}
	j.declare(t, n, usual)
}

// deleteQueue deletes the stream of a source with all that is in it. All
// parked places are one stream, which goes as a whole.
func (j *jet) deleteQueue(t *testing.T, queue string) {
	t.Helper()
	stream, _, _ := strings.Cut(queue, "/")
	if strings.HasSuffix(queue, parkedSuffix) {
		stream = parkedStream
	}
	j.do(t, "delete "+stream, func(ctx context.Context, js natsjs.JetStream) error {
		err := js.DeleteStream(ctx, stream)
		if errors.Is(err, natsjs.ErrStreamNotFound) {
			return nil // a case has deleted it
		}
		return err
	})
}
