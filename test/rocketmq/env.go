package rocketmq

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/brokertest"
	"github.com/holdfast-mq/holdfast/broker/rocketmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// lease is how long a message stays with a consumer that is gone.
const lease = 6 * time.Second

// scene is a server for one configuration, and a plain client that does there
// what producers and operators do.
type scene struct {
	server *Server
	queues int // of each topic
	number atomic.Int64

	mu            sync.RWMutex // held for writing while the server restarts
	names, broker *plain
	wires         map[broker.Broker]*wires
}

// Env is the suite's view of a server whose topics have so many queues.
func Env(t testing.TB, name string, server *Server, queues int) brokertest.Env {
	t.Helper()
	s := newScene(t, server)
	s.queues = queues
	return brokertest.Env{
		Name: name,
		Capabilities: broker.Capabilities{
			Delay: true, Hold: true, Stamp: true, Counts: true, Attempts: true, MaxHeaders: 28 << 10,
		},
		Open:          s.open,
		NewQueue:      s.newQueue,
		RecreateQueue: s.declare,
		DeleteQueue:   s.deleteQueue,
		Publish:       s.publish,
		PublishVia:    s.publishVia,
		Parked:        parked,
		Hold:          func(queue string) string { return queue + ".hold" },
		Cut:           s.cut,
		Restart:       s.restart,
		RestartTakes:  30 * time.Second,
		Unordered:     true,
		BlindHold:     true,
		NoEmptyBody:   true,
		LargestBody:   4<<20 - 64<<10, // a broker takes 4 MiB
		Headers:       map[string]any{"text": "naïve – 漢字 – 🎈", "KEYS": "order-1 order-2"},
		Added:         []string{"KEYS", "TAGS"},
		Without: map[string]string{
			"Block":             "RocketMQ has no state in which publishes wait",
			"NewLimitedQueue":   "a broker applies maxReconsumeTimes to push consumers, and takes no popped message away",
			"NewTransientQueue": "a consumer group stays until somebody deletes it",
		},
		Slow: 5, // a broker looks for what has come back every few seconds
	}
}

func newScene(t testing.TB, server *Server) *scene {
	t.Helper()
	s := &scene{server: server, queues: 1, wires: map[broker.Broker]*wires{}}
	s.connect(t)
	t.Cleanup(func() {
		s.names.close()
		s.broker.close()
	})
	return s
}

func parked(queue string) string {
	return "holdfast_parked_" + strings.ReplaceAll(queue, "/", "%")
}

func (s *scene) connect(t testing.TB) {
	t.Helper()
	var err error
	if s.names, err = connect(s.server.nameAddr); err != nil {
		t.Fatal(err)
	}
	if s.broker, err = connect(s.server.brokerAddr); err != nil {
		t.Fatal(err)
	}
}

// do uses the plain client.
func (s *scene) do(t testing.TB, what string, request func(broker *plain) error) {
	t.Helper()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := request(s.broker); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func (s *scene) open(t *testing.T) broker.Broker {
	t.Helper()
	w := &wires{}
	b, err := rocketmq.Open(t.Context(), rocketmq.Config{URL: s.server.URL(), Lease: lease, Dial: w.dial})
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wires[b] = w
	return b
}

func (s *scene) cut(_ *testing.T, b broker.Broker) {
	s.mu.RLock()
	w := s.wires[b]
	s.mu.RUnlock()
	w.cut()
}

func (s *scene) restart(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names.close()
	s.broker.close()
	s.server.Restart(t)
	s.connect(t)
}

func (s *scene) newQueue(t *testing.T) string {
	t.Helper()
	n := s.number.Add(1)
	queue := fmt.Sprintf("T%d/g%d", n, n)
	s.declare(t, queue)
	return queue
}

func (s *scene) declare(t *testing.T, queue string) {
	t.Helper()
	topic, group, _ := strings.Cut(queue, "/")
	s.do(t, "make "+queue, func(p *plain) error {
		if err := p.makeTopic(topic, s.queues); err != nil {
			return err
		}
		return p.makeGroup(group)
	})
	s.awaitRoute(t, topic)
}

// awaitRoute waits until the name server knows of a topic.
func (s *scene) awaitRoute(t *testing.T, topic string) {
	t.Helper()
	s.mu.RLock()
	defer s.mu.RUnlock()
	testenv.Eventually(t, startTakes, "topic "+topic+" has a route", func() bool {
		_, err := s.names.ask(askRoute, fields{"topic": topic}, nil)
		return err == nil
	})
}

// deleteQueue deletes the topic and the group of a source, or another place.
func (s *scene) deleteQueue(t *testing.T, queue string) {
	t.Helper()
	topic, group, isSource := strings.Cut(queue, "/")
	s.do(t, "delete "+queue, func(p *plain) error {
		if isSource {
			if _, err := p.ask(askGroupGone, fields{"groupName": group, "cleanOffset": "true"}, nil); err != nil {
				return err
			}
		}
		if _, err := p.ask(askTopicGone, fields{"topic": topic}, nil); err != nil {
			return err
		}
		_, err := s.names.ask(askTopicUnsaid, fields{"topic": topic}, nil)
		return err
	})
}

func (s *scene) publish(t *testing.T, queue string, m *broker.Message) {
	t.Helper()
	topic, _, _ := strings.Cut(queue, "/")
	s.send(t, topic, "", m)
}

func (s *scene) publishVia(t *testing.T, queue string, m *broker.Message) (exchange, key string) {
	t.Helper()
	topic, _, _ := strings.Cut(queue, "/")
	s.send(t, topic, "first.tag", m)
	return topic, "first.tag"
}

var given atomic.Int64

// send publishes m. A producer's client gives each message an id and a time
// where the producer has not.
func (s *scene) send(t *testing.T, topic, tag string, m *broker.Message) {
	t.Helper()
	if m.ID == "" {
		m.ID = fmt.Sprintf("given-%d", given.Add(1))
	}
	if m.Timestamp.IsZero() {
		m.Timestamp = time.Now().UTC().Truncate(time.Millisecond)
	}
	p := map[string]string{}
	for name, v := range m.Headers {
		p[name] = fmt.Sprint(v)
	}
	for name, v := range map[string]string{
		"UNIQ_KEY": m.ID, "CORRELATION_ID": m.CorrelationID, "REPLY_TO_CLIENT": m.ReplyTo, "Content-Type": m.ContentType,
		"Content-Encoding": m.ContentEncoding, "Type": m.Type, "App-Id": m.AppID, "TAGS": tag,
	} {
		if v != "" {
			p[name] = v
		}
	}
	s.do(t, "publish to "+topic, func(b *plain) error { return b.send(topic, p, m.Timestamp.UnixMilli(), m.Body) })
}

// wires are the connections of one client.
type wires struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (w *wires) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err == nil {
		w.mu.Lock()
		w.conns = append(w.conns, c)
		w.mu.Unlock()
	}
	return c, err
}

// cut ends the connections of now; the client may make new ones.
func (w *wires) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}
