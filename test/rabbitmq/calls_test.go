package rabbitmq_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// methods are those that a settlement or a probe sends; others show as numbers.
var methods = map[[2]uint16]string{
	{20, 10}: "channel.open", {20, 40}: "channel.close", {50, 10}: "queue.declare",
	{60, 40}: "basic.publish", {60, 80}: "basic.ack", {60, 120}: "basic.nack",
}

// meter stands between a client and the broker, and counts the methods that the client sends. Contents and heartbeats
// are none.
type meter struct {
	broker string

	mu    sync.Mutex
	calls map[string]int
}

// metered returns a meter, and the URL that leads through it.
func (p *place) metered() (m *meter, through string) {
	p.Helper()
	u, err := url.Parse(p.url)
	if err != nil {
		p.Fatal("the broker's URL cannot be read") // it holds a password
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.Fatal(err)
	}
	m = &meter{broker: u.Host, calls: map[string]int{}}
	var running sync.WaitGroup
	running.Go(func() { m.accept(l, &running) })
	p.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	u.Host = l.Addr().String()
	return m, u.String()
}

func (m *meter) accept(l net.Listener, running *sync.WaitGroup) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", m.broker)
		if err != nil {
			client.Close()
			continue
		}
		pump := func(to io.WriteCloser, from io.Reader) {
			_, _ = io.Copy(to, from) // either end may end it
			to.Close()
		}
		running.Go(func() { pump(server, io.TeeReader(client, &frames{meter: m, skip: len("AMQP\x00\x00\x09\x01")})) })
		running.Go(func() { pump(client, server) })
	}
}

func (m *meter) count(class, method uint16) {
	name, known := methods[[2]uint16{class, method}]
	if !known {
		name = fmt.Sprintf("%d.%d", class, method)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[name]++
}

// take returns what was counted since the last time.
func (m *meter) take() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls
	m.calls = map[string]int{}
	return calls
}

// frames cuts what one connection sends into frames.
type frames struct {
	meter *meter
	rest  []byte
	skip  int // of what comes next
}

// Write implements [io.Writer]. A frame is its type, its channel, the size of what it holds, that, and one byte more.
func (f *frames) Write(b []byte) (int, error) {
	const head, method = 7, 1
	f.rest = append(f.rest, b...)
	for {
		n := min(f.skip, len(f.rest))
		f.rest, f.skip = f.rest[n:], f.skip-n
		if f.skip > 0 || len(f.rest) < head+4 && (len(f.rest) < head || f.rest[0] == method) {
			return len(b), nil
		}
		if f.rest[0] == method {
			f.meter.count(binary.BigEndian.Uint16(f.rest[head:]), binary.BigEndian.Uint16(f.rest[head+2:]))
		}
		f.skip = head + int(binary.BigEndian.Uint32(f.rest[3:])) + 1
	}
}

// TestCalls enumerates what one delivery asks of the broker, first and again. Nothing is added for the count: the
// delivery brings it.
func TestCalls(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		for kind, args := range map[string]amqp.Table{"quorum": quorum, "classic": nil} {
			t.Run(kind, func(t *testing.T) {
				p := newPlace(t, r)
				p.declare("orders", args)
				m, through := p.metered()
				b := p.open(func(c *rabbitmq.Config) { c.URL = through })
				s := p.session(b, broker.Subscription{Queue: "orders", Rungs: []time.Duration{time.Minute}, Hold: time.Hour})
				p.consume(s, 1)
				ack := map[string]int{"basic.nack": 1, "basic.ack": 1} // one for each of its two deliveries
				copied := map[string]int{"basic.nack": 1, "basic.publish": 1, "basic.ack": 1}
				for _, c := range []struct {
					fate broker.Fate
					want map[string]int
				}{
					{broker.FateDone, ack},
					{broker.FateDiscard, ack},
					{broker.FateDelay, copied},
					{broker.FatePark, copied},
					{broker.FateHold, copied},
				} {
					p.costs(m, s, c.fate, c.want)
				}
			})
		}
	})
}

// costs holds what a message asks that is given back first against want. A session opens a channel for copies with the first one, and may still
// be about its start: what it sends beside a delivery once, it does not send beside the next, and what each costs shows
// with each.
func (p *place) costs(m *meter, s broker.Session, fate broker.Fate, want map[string]int) {
	p.Helper()
	var got map[string]int
	for range 3 {
		p.fence(m, s)
		p.meets(s, fate)
		if got = p.fence(m, s); maps.Equal(got, want) {
			return
		}
	}
	p.Errorf("a delivery of fate %v asks %v, not %v", fate, got, want)
}

// meets lets a message be given back once, so that it comes with a count, and meet its fate then.
func (p *place) meets(s broker.Session, fate broker.Fate) {
	p.Helper()
	p.publish("", "orders", amqp.Publishing{Body: []byte(fate.String())})
	p.mustSettle(p.receive(s), broker.Settlement{Fate: broker.FateRelease})
	d := p.receive(s)
	set := broker.Settlement{Fate: fate, Capture: capture(d)}
	switch fate {
	case broker.FateDelay:
		set.Delay = time.Minute
	case broker.FatePark:
		set.Capture.Reason = broker.ReasonVerdict
	}
	p.mustSettle(d, set)
}

// fence returns what was sent since the last time. The answer to a probe comes after all that was written before on the
// connection that consumes; of what is published elsewhere the confirm has come.
func (p *place) fence(m *meter, s broker.Session) map[string]int {
	p.Helper()
	if err := s.Probe(p.Context()); err != nil {
		p.Fatal(err)
	}
	calls := m.take()
	for _, asked := range []string{"channel.open", "queue.declare", "channel.close"} {
		if calls[asked]--; calls[asked] == 0 {
			delete(calls, asked)
		}
	}
	return calls
}
