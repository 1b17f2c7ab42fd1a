package rabbitmq_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/test/faultproxy"
)

// TestBlocked raises the memory alarm: copies wait, acknowledgements do not,
// a new session opens, and nothing is lost. Not parallel: it stops everybody.
func TestBlocked(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", quorum)
		for range 40 {
			p.publish("", "orders", amqp.Publishing{Body: []byte("a")})
		}
		p.wantDepth("orders", 40)
		told := &notices{}
		b := p.open(func(c *rabbitmq.Config) { c.ConfirmTimeout = time.Second })
		sub := broker.Subscription{Queue: "orders", Notify: told.add}
		s := p.session(b, sub)
		p.consume(s, 30)

		restore := p.block()
		parked := make(chan error, 10)
		for range cap(parked) {
			d := p.receive(s)
			d.Settle(broker.Settlement{Fate: broker.FatePark, Capture: capture(d)}, func(err error) { parked <- err })
		}
		testenv.Eventually(t, patience, "the block is told", func() bool { return len(told.of(broker.NoticeBlocked)) == 1 })
		for range 20 {
			p.mustSettle(p.receive(s), broker.Settlement{Fate: broker.FateDone})
		}
		second := p.session(b, broker.Subscription{Queue: "orders"})
		if err := second.Probe(t.Context()); err != nil {
			t.Errorf("probe: %v", err)
		}
		select {
		case <-s.Done():
			t.Fatalf("the session ended although the confirm clock stands still: %v", s.Err())
		case <-time.After(2 * time.Second): // longer than a confirm may take
		}
		restore()
		for range cap(parked) {
			if err := <-parked; err != nil {
				t.Errorf("parked after the block: %v", err)
			}
		}
		if n := len(told.of(broker.NoticeUnblocked)); n != 1 {
			t.Errorf("the end of the block was told %d times", n)
		}
		p.wantDepth("orders.parked", 10)
	})
}

// TestServerGone lets a broker go and come back under a session. RabbitMQ 3.10
// is stopped in good order: killed, its quorum queues confirm nothing to
// anybody for minutes after the next start.
func TestServerGone(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", quorum)
		for range 20 {
			p.publish("", "orders", amqp.Publishing{Body: []byte("a")})
		}
		p.wantDepth("orders", 20)
		b := p.open()
		s := p.session(b, broker.Subscription{Queue: "orders"})
		p.consume(s, 5)
		d := p.receive(s)
		comeBack := r.Start
		if r.Name == "rabbitmq3" {
			r.Restart(t)
			comeBack = func(testing.TB) {}
		} else {
			r.Kill(t)
		}
		wantErr(t, p.ended(s, patience), broker.ErrUnreachable)
		wantErr(t, p.settle(d, broker.Settlement{Fate: broker.FateDone}), broker.ErrClosed)
		comeBack(t)
		p.connect()
		var again broker.Session
		testenv.Eventually(t, patience, "a new session", func() bool {
			var err error
			again, err = b.Open(t.Context(), broker.Subscription{Queue: "orders"})
			return err == nil
		})
		p.consume(again, 5)
		for range 20 {
			d := p.receive(again)
			p.mustSettle(d, broker.Settlement{Fate: broker.FatePark, Capture: capture(d)})
		}
		closeSession(p, again)
		p.wantDepth("orders.parked", 20)
		p.wantDepth("orders", 0)
	})
}

func TestQueueDeletedUnderTheSession(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, _ string) {
		s := p.session(p.open(), broker.Subscription{Queue: "orders"})
		p.publish("", "orders", amqp.Publishing{Body: []byte("a")})
		p.consume(s, 1)
		p.receive(s)
		if err := s.Probe(p.Context()); err != nil {
			p.Errorf("probe: %v", err)
		}
		if _, err := p.plain.QueueDelete("orders", false, false, false); err != nil {
			p.Fatal(err)
		}
		err := p.ended(s, patience)
		wantErr(p, err, broker.ErrDetached, `queue "orders"`)
		if broker.Permanent(err) {
			p.Error("it is permanent")
		}
	})
}

// TestHalfOpen stops the network without closing anything.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		t.Parallel()
		p := newPlace(t, r)
		p.declare("orders", quorum)
		proxy, through := faultproxy.Before(t, p.url)
		const heartbeat = time.Second
		b := p.open(func(c *rabbitmq.Config) {
			c.URL, c.Heartbeat, c.CallTimeout, c.DialTimeout = through, heartbeat, 2*time.Second, time.Second
		})
		s := p.session(b, broker.Subscription{Queue: "orders"})
		p.consume(s, 1)
		start := time.Now()
		proxy.Freeze(true)
		wantErr(t, p.ended(s, 2*heartbeat+5*time.Second), broker.ErrUnreachable)
		t.Logf("seen after %v", time.Since(start))
		_, err := b.Open(t.Context(), broker.Subscription{Queue: "orders"})
		wantErr(t, err, broker.ErrUnreachable)
		proxy.Freeze(false)
		p.session(b, broker.Subscription{Queue: "orders"})
	})
}

// TestCallDeadline: a broker that answers nothing holds nobody up.
func TestCallDeadline(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		t.Parallel()
		p := newPlace(t, r)
		p.declare("orders", nil)
		proxy, through := faultproxy.Before(t, p.url)
		b := p.open(func(c *rabbitmq.Config) {
			c.URL, c.Heartbeat, c.CallTimeout = through, time.Minute, 500*time.Millisecond
		})
		s := p.session(b, broker.Subscription{Queue: "orders"})
		proxy.Freeze(true)
		wantErr(t, s.Consume(t.Context(), 1), broker.ErrUnreachable, "did not answer within 500ms")
		wantErr(t, p.ended(s, patience), broker.ErrUnreachable)
	})
}

// TestConfirmThatDoesNotCome drops the publishing connection at the socket.
func TestConfirmThatDoesNotCome(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		t.Parallel()
		p := newPlace(t, r)
		p.declare("orders", quorum)
		p.publish("", "orders", amqp.Publishing{Body: []byte("a")})
		proxy, through := faultproxy.Before(t, p.url)
		b := p.open(func(c *rabbitmq.Config) {
			c.URL, c.Heartbeat, c.ConfirmTimeout = through, time.Minute, 500*time.Millisecond
		})
		s := p.session(b, broker.Subscription{Queue: "orders"})
		p.consume(s, 1)
		// The publishing channel is opened by the first copy.
		first := p.receive(s)
		p.mustSettle(first, broker.Settlement{Fate: broker.FateRelease, Capture: capture(first)})
		d := p.receive(s)
		proxy.Freeze(true)
		err := p.settle(d, broker.Settlement{Fate: broker.FatePark, Capture: capture(d)})
		wantErr(t, err, broker.ErrUnknown, "confirmed nothing for 500ms")
		proxy.Freeze(false)
		wantErr(t, p.ended(s, patience), broker.ErrUnknown)
		p.wantDepth("orders", 1)
	})
}

// TestConnectionClosedByAnOperator ends both connections through the
// management API.
func TestConnectionClosedByAnOperator(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		t.Parallel()
		p := newPlace(t, r)
		p.declare("orders", quorum)
		p.publish("", "orders", amqp.Publishing{Body: []byte("a")})
		b := p.open(func(c *rabbitmq.Config) { c.Name = "to be closed" })
		s := p.session(b, broker.Subscription{Queue: "orders"})
		p.consume(s, 1)
		p.receive(s)
		testenv.Eventually(t, patience, "the connections are shown", func() bool { return p.closeConnections("to be closed") == 2 })
		wantErr(t, p.ended(s, patience), broker.ErrUnreachable)
		var again broker.Session
		testenv.Eventually(t, patience, "a new session", func() bool { // the other connection may be closing still
			var err error
			again, err = b.Open(p.Context(), broker.Subscription{Queue: "orders"})
			return err == nil
		})
		p.consume(again, 1)
		if d := p.receive(again); d.Facts().Crashes != 1 {
			t.Errorf("facts %+v", d.Facts())
		}
	})
}

// closeConnections closes those whose name begins so, once there are two.
func (p *place) closeConnections(name string) int {
	var list []struct {
		Name       string
		Properties struct {
			Name string `json:"connection_name"`
		} `json:"client_properties"`
	}
	p.api("vhosts/"+p.vhost()+"/connections", &list)
	var ours []string
	for _, c := range list {
		if c.Properties.Name == name+" consume" || c.Properties.Name == name+" publish" {
			ours = append(ours, c.Name)
		}
	}
	if len(ours) == 2 {
		for _, c := range ours {
			p.broker.Management(p, http.MethodDelete, "/api/connections/"+url.PathEscape(c), nil, nil)
		}
	}
	return len(ours)
}

// TestCutsUnderLoad kills the connections again and again while every fate is
// in use; in the end every message has one.
func TestCutsUnderLoad(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		t.Parallel()
		p := newPlace(t, r)
		p.declare("orders", quorum)
		const n, rung = 300, 50 * time.Millisecond
		p.fill("orders", n)
		proxy, through := faultproxy.Before(t, p.url)
		b := p.open(func(c *rabbitmq.Config) { c.URL = through })
		fates := map[string]bool{}
		for settled, cuts := 0, 0; len(fates) < n; {
			s, err := b.Open(t.Context(), broker.Subscription{Queue: "orders", Rungs: []time.Duration{rung}})
			if err != nil {
				if broker.Permanent(err) {
					t.Fatal(err)
				}
				continue
			}
			if err := s.Consume(t.Context(), 20); err != nil {
				continue
			}
			for s.Err() == nil && len(fates) < n {
				d, err := s.Receive(t.Context())
				if err != nil {
					break
				}
				if p.settle(d, mixedFate(d, rung)) == nil {
					if settled++; d.Message().Attempt > 1 || d.Message().Body[0]%2 == 0 {
						fates[string(d.Message().Body)] = true
					}
				}
				if cuts < 8 && settled >= 30*(cuts+1) {
					cuts++
					proxy.Cut()
				}
			}
		}
	})
}

// mixedFate parks the even ones, and the odd ones after one round on a rung.
func mixedFate(d broker.Delivery, rung time.Duration) broker.Settlement {
	if m := d.Message(); m.Attempt == 1 && m.Body[0]%2 == 1 {
		return broker.Settlement{Fate: broker.FateDelay, Delay: rung, Capture: capture(d)}
	}
	return broker.Settlement{Fate: broker.FatePark, Capture: capture(d)}
}

// TestDeletedTopology: a place that was deleted under the session is an
// error, the original stays, and the next session makes it again.
func TestDeletedTopology(t *testing.T) {
	t.Parallel()
	eachSource(t, func(p *place, _ string) {
		b := p.open()
		for i, c := range []struct {
			lose  func() error
			class error
		}{
			{func() error { _, err := p.plain.QueueDelete("orders.parked", false, false, false); return err }, broker.ErrUnrouted},
			{func() error { return p.plain.ExchangeDelete("holdfast", false, false) }, broker.ErrUnknown},
		} {
			s := p.session(b, broker.Subscription{Queue: "orders"})
			p.publish("", "orders", amqp.Publishing{Body: []byte(fmt.Sprint(i))})
			p.consume(s, 1)
			d := p.receive(s)
			if err := c.lose(); err != nil {
				p.Fatal(err)
			}
			park := broker.Settlement{Fate: broker.FatePark, Capture: capture(d)}
			wantErr(p, p.settle(d, park), c.class)
			if errors.Is(c.class, broker.ErrUnrouted) {
				wantErr(p, p.settle(d, park), broker.ErrUnrouted) // still open
				closeSession(p, s)
			} else {
				wantErr(p, p.ended(s, patience), broker.ErrUnknown, "an exchange was deleted")
			}
			again := p.session(b, broker.Subscription{Queue: "orders"})
			p.consume(again, 1)
			d = p.receive(again)
			p.mustSettle(d, broker.Settlement{Fate: broker.FatePark, Capture: capture(d)})
			closeSession(p, again)
		}
		p.wantDepth("orders.parked", 2)
	})
}

// TestBlockedWithLargeBodies raises the memory alarm while bodies wait to be
// parked that are larger than all buffers on the way together. A write that
// hangs in them costs the connection, and each message a crash. Not parallel:
// it stops everybody.
func TestBlockedWithLargeBodies(t *testing.T) {
	for name, first := range map[string]string{"the largest among others": "large", "the largest first": "huge"} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, r testenv.RabbitMQ) { blockedWithLargeBodies(newPlace(t, r), first) })
		})
	}
}

func blockedWithLargeBodies(p *place, first string) {
	p.declare("orders", quorum)
	const large, good = 100, 50
	bodies := map[string][]byte{"huge": bytes.Repeat([]byte("h"), 8<<20), "large": bytes.Repeat([]byte("l"), 64<<10), "good": []byte("g")}
	publish := func(kind string) { p.publish("", "orders", amqp.Publishing{Type: kind, Body: bodies[kind]}) }
	if first == "huge" {
		publish("huge")
	}
	for i := range large {
		publish("large")
		if i%2 == 1 {
			publish("good")
		}
		if i == large/2 && first != "huge" {
			publish("huge")
		}
	}
	p.wantDepth("orders", large+good+1)
	told := &notices{}
	s := p.session(p.open(), broker.Subscription{Queue: "orders", Notify: told.add})
	unblock := p.block()
	p.consume(s, 200)
	parked := make(chan error, large+1)
	for range large + good + 1 {
		d := p.receive(s)
		if d.Message().Type == "good" {
			p.mustSettle(d, broker.Settlement{Fate: broker.FateDone})
			continue
		}
		d.Settle(broker.Settlement{Fate: broker.FatePark, Capture: capture(d)}, func(err error) { parked <- err })
	}
	testenv.Eventually(p, patience, "the block is told", func() bool { return len(told.of(broker.NoticeBlocked)) == 1 })
	// Longer than the socket gives a write that hangs, and the peer a heartbeat.
	select {
	case <-s.Done():
		p.Fatalf("the session ended during the block: %v", s.Err())
	case err := <-parked:
		p.Fatalf("a copy was settled during the block: %v", err)
	case <-time.After(8 * time.Second):
	}
	unblock()
	for range large + 1 {
		if err := <-parked; err != nil {
			p.Errorf("parked after the block: %v", err)
		}
	}
	p.wantDepth("orders.parked", large+1)
	p.wantDepth("orders", 0)
	for range large + 1 {
		if d := p.get("orders.parked"); !bytes.Equal(d.Body, bodies[d.Type]) {
			p.Errorf("a body of type %s has %d bytes", d.Type, len(d.Body))
		}
	}
}

// block raises the memory alarm until it is told not to, or the test ends.
func (p *place) block() (unblock func()) {
	p.Helper()
	usual := "0.6"
	if p.broker.Name == "rabbitmq3" {
		usual = "0.4"
	}
	p.broker.Ctl(p, "set_vm_memory_high_watermark", "0.00001")
	unblock = sync.OnceFunc(func() { p.broker.Ctl(p, "set_vm_memory_high_watermark", usual) })
	p.Cleanup(unblock)
	return unblock
}

// TestCloseDuringABlock closes a session whose copy hangs in a write: it ends
// within the bound of a call, and the message is still there.
func TestCloseDuringABlock(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", quorum)
		p.publish("", "orders", amqp.Publishing{Body: bytes.Repeat([]byte("h"), 8<<20)})
		p.wantDepth("orders", 1)
		told := &notices{}
		b := p.open(func(c *rabbitmq.Config) { c.CallTimeout = time.Second })
		s, err := b.Open(t.Context(), broker.Subscription{Queue: "orders", Notify: told.add})
		if err != nil {
			t.Fatal(err)
		}
		unblock := p.block()
		p.consume(s, 1)
		d := p.receive(s)
		outcome := make(chan error, 1)
		d.Settle(broker.Settlement{Fate: broker.FatePark, Capture: capture(d)}, func(err error) { outcome <- err })
		testenv.Eventually(t, patience, "the block is told", func() bool { return len(told.of(broker.NoticeBlocked)) == 1 })
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		closed := make(chan error, 1)
		go func() { closed <- s.Close(ctx) }()
		select {
		case err := <-closed:
			wantErr(t, err, context.DeadlineExceeded, "1 settlements were cut off")
		case <-time.After(patience):
			t.Fatal("the session does not close")
		}
		wantErr(t, <-outcome, broker.ErrUnknown)
		unblock()
		again := p.session(b, broker.Subscription{Queue: "orders"})
		p.consume(again, 1)
		p.mustSettle(p.receive(again), broker.Settlement{Fate: broker.FateDone})
	})
}
