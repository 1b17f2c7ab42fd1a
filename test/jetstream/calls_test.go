package jetstream_test

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/jetstream"
)

// What a client asks a server for.
const (
	callPull      = "pull"
	callPublish   = "publish"
	callAck       = "ack"
	callSubscribe = "subscribe"
)

// meter counts what a client asks of the server, by kind; pings are none.
type meter struct {
	mu    sync.Mutex
	calls map[string]int
}

// metered makes the driver's connections go through m.
func metered(m *meter) func(*jetstream.Config) {
	return func(c *jetstream.Config) { c.Options = append(c.Options, nats.SetCustomDialer(m)) }
}

// Dial implements nats.CustomDialer.
func (m *meter) Dial(network, address string) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return nil, err
	}
	return &lines{Conn: conn, meter: m}, nil
}

func (m *meter) count(line string) {
	f := strings.Fields(line)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch f[0] {
	case "CONNECT", "PING", "PONG":
	case "SUB", "UNSUB":
		m.calls[callSubscribe]++
	default:
		m.calls[kindOf(f[1])]++
	}
}

// kindOf is what a publish to subject asks for.
func kindOf(subject string) string {
	switch {
	case strings.HasPrefix(subject, "$JS.API.CONSUMER.MSG.NEXT."):
		return callPull
	case strings.HasPrefix(subject, "$JS.ACK."):
		return callAck
	case strings.HasPrefix(subject, "$JS.API."):
		return subject
	default:
		return callPublish
	}
}

// take returns what was counted since the last time.
func (m *meter) take() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls
	m.calls = map[string]int{}
	return calls
}

// lines cuts what one connection sends into lines, and leaves out what they say is to follow.
type lines struct {
	net.Conn
	meter *meter
	rest  []byte
	skip  int // of what comes next
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		n := min(l.skip, len(l.rest))
		l.rest, l.skip = l.rest[n:], l.skip-n
		line, rest, whole := bytes.Cut(l.rest, []byte("\r\n"))
		if l.skip > 0 || !whole {
			return l.Conn.Write(b)
		}
		l.rest = rest
		l.meter.count(string(line))
		if bytes.HasPrefix(line, []byte("PUB ")) || bytes.HasPrefix(line, []byte("HPUB ")) {
			size, err := strconv.Atoi(string(line[bytes.LastIndexByte(line, ' ')+1:]))
			if err != nil {
				return 0, err
			}
			l.skip = size + len("\r\n")
		}
	}
}

// TestCalls enumerates what one delivery asks of the server, beside its share of a pull. Nothing is added for the
// count: the delivery brings it.
func TestCalls(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	m := &meter{calls: map[string]int{}}
	s := p.consuming(p.open(metered(m)), queue, 1)
	p.publish("the session's first")
	p.mustSettle(p.receive(s), done) // its answer comes after all that opening sent
	m.take()
	ack, copied := map[string]int{callAck: 1}, map[string]int{callPublish: 1, callAck: 1}
	for _, c := range []struct {
		fate broker.Fate
		set  func(broker.Delivery) broker.Settlement
		want map[string]int
	}{
		{broker.FateDone, func(broker.Delivery) broker.Settlement { return done }, ack},
		{broker.FateDiscard, func(broker.Delivery) broker.Settlement { return broker.Settlement{Fate: broker.FateDiscard} }, ack},
		{broker.FateDelay, func(d broker.Delivery) broker.Settlement { return delayed(d, time.Minute) }, copied},
		{broker.FatePark, parked, copied},
		{broker.FateHold, held, copied},
	} {
		p.publish(c.fate.String())
		d := p.receive(s)
		p.mustSettle(d, c.set(d))
		got := m.take()
		delete(got, callPull) // an idle session pulls, too
		if !maps.Equal(got, c.want) {
			t.Errorf("a delivery of fate %v asks %v, not %v", c.fate, got, c.want)
		}
	}
}

// TestCalls_of_many: what waits comes with few pulls, and each delivery has one ack whose answer it may share.
func TestCalls_of_many(t *testing.T) {
	t.Parallel()
	const messages = 40
	p := newPlace(t)
	queue := p.queue()
	for i := range messages {
		p.publish(fmt.Sprint(i))
	}
	m := &meter{calls: map[string]int{}}
	b := p.open(metered(m))
	s := p.session(b, broker.Subscription{Queue: queue, Rungs: rungs, Hold: time.Minute})
	m.take()
	p.must(s.Consume(p.ctx(), messages))
	list := make([]broker.Delivery, messages)
	for i := range list {
		list[i] = p.receive(s)
	}
	got := m.take()
	// One for what has come back and one for the source; a busy machine may let one run out.
	if pulls := got[callPull]; pulls > messages/4 {
		t.Errorf("%d pulls for %d messages", pulls, messages)
	}
	var settled sync.WaitGroup
	for _, d := range list {
		settled.Add(1)
		d.Settle(done, func(err error) {
			if err != nil {
				t.Error(err)
			}
			settled.Done()
		})
	}
	settled.Wait()
	if got = m.take(); got[callAck] != messages || got[callPublish] > 0 {
		t.Errorf("%d deliveries that are done ask %v", messages, got)
	}
}
