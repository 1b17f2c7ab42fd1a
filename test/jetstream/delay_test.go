package jetstream_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/test/natsserver"
)

const (
	// late is how much later than asked a message may come back to a consumer
	// that is idle: the server moves in steps of 250 ms, and is asked every 250
	// to 500 ms.
	late = 1500 * time.Millisecond

	// early is how much sooner it may: clocks are read on both sides.
	early = 2 * time.Millisecond
)

// TestRungs: what waits on a rung comes back not early, and in time.
func TestRungs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	delays := []time.Duration{100 * time.Millisecond, 250 * time.Millisecond, 600 * time.Millisecond, time.Second, 2 * time.Second}
	s := p.session(p.open(), broker.Subscription{Queue: queue, Rungs: delays, Hold: time.Minute})
	p.must(s.Consume(p.ctx(), 10))
	began := map[string]time.Time{}
	for _, delay := range delays {
		p.publish(delay.String())
		d := p.receives(s, delay.String())[0]
		began[delay.String()] = time.Now()
		p.mustSettle(d, delayed(d, delay))
	}
	for range delays {
		d := p.receive(s)
		body := string(d.Message().Body)
		delay, err := time.ParseDuration(body)
		p.must(err)
		if took := time.Since(began[body]); took < delay-early || took > delay+late {
			t.Errorf("%v took %v", delay, took)
		}
		if d.Message().Attempt != 2 || d.Facts().Redelivered {
			t.Errorf("%v came back as %+v", delay, d.Message())
		}
		p.mustSettle(d, done)
	}
	wantErr(t, p.settle(first(p, s), broker.Settlement{Fate: broker.FateDelay, Delay: time.Hour}), broker.ErrUnsupported, "rungs")
}

func first(p *place, s broker.Session) broker.Delivery {
	p.publish("another")
	return p.receive(s)
}

// TestWaitsOverARestart: what waits on a rung or in a hold is there after a
// restart and after a kill of the server, whether its time is over by then or
// not.
func TestWaitsOverARestart(t *testing.T) {
	t.Parallel()
	for what, stop := range map[string]func(*natsserver.Server, *testing.T){
		"restart": func(*natsserver.Server, *testing.T) {},
		"kill":    func(s *natsserver.Server, t *testing.T) { s.Kill(t) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := natsserver.Start(t)
			p := at(t, server.URL())
			queue := p.queue()
			b := p.open()
			sub := broker.Subscription{Queue: queue, Rungs: []time.Duration{time.Millisecond, 3 * time.Second}, Hold: 3 * time.Second}
			s := p.session(b, sub)
			p.must(s.Consume(p.ctx(), 3))
			p.publish("over", "delayed", "held")
			list := p.receives(s, "over", "delayed", "held")
			p.must(s.Pause(p.ctx()))
			began := time.Now()
			p.mustSettle(list[0], delayed(list[0], time.Millisecond))
			p.mustSettle(list[1], delayed(list[1], 3*time.Second))
			p.mustSettle(list[2], held(list[2]))
			stop(server, t)
			server.Restart(t)
			p.connect()
			_ = p.ended(s, patience)
			s, told := p.sessionTelling(b, sub)
			p.must(s.Consume(p.ctx(), 3))
			var back tally
			for back.len() < 3 { // after a kill one may come twice
				d := p.receive(s)
				if body := string(d.Message().Body); d.Facts().Capture != nil && back.add(body) == 1 && body != "over" {
					if took := time.Since(began); took < 3*time.Second-early {
						t.Errorf("%s came back after %v", body, took)
					}
				}
				p.mustSettle(d, done)
			}
			if got := told.of(broker.NoticeReturned); len(got) != 1 || got[0] != "capture-1" {
				t.Errorf("told of the end of a hold: %q", got)
			}
		})
	}
}

// TestResume: a hold that is ended early comes back once, with its capture and
// lap.
func TestResume(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	b := p.open()
	const n = 100
	s, told := p.sessionTelling(b, broker.Subscription{Queue: queue, Hold: time.Minute})
	p.holdAll(s, n)
	sum, err := b.Sift(p.ctx(), queue+".hold", broker.SiftOptions{}, copyTo(queue))
	if err != nil || sum != (broker.Sifted{Seen: n, Copied: n}) {
		t.Errorf("%+v, %v", sum, err)
	}
	if back := p.allBack(s, n); back != n {
		t.Errorf("%d came back", back)
	}
	if got := len(told.of(broker.NoticeReturned)); got != n {
		t.Errorf("%d were told", got)
	}
	p.wantStored(workStream, 0)
}

// TestResumeOfWhatIsDue: where a hold is over just when it is ended early, the
// message comes back. The server may have begun to move it, so that it comes
// twice, and both times with its capture.
func TestResumeOfWhatIsDue(t *testing.T) {
	t.Parallel()
	for _, hold := range []time.Duration{1250 * time.Millisecond, time.Second} {
		t.Run(hold.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			queue := p.queue()
			b := p.open()
			const n = 300
			s := p.session(b, broker.Subscription{Queue: queue, Hold: hold})
			p.holdAll(s, n)
			p.eventually("some of them are due", func() bool { return p.streamInfo(workStream).State.FirstSeq > 1 })
			sum, err := b.Sift(p.ctx(), queue+".hold", broker.SiftOptions{}, copyTo(queue))
			if err != nil || sum.Copied != sum.Seen {
				t.Errorf("%+v, %v", sum, err)
			}
			t.Logf("%d of %d were still held, %d came back", sum.Seen, n, p.allBack(s, n))
			p.wantStored(workStream, 0)
		})
	}
}

// holdAll lets a session hold n numbered messages. It takes all of them before
// it holds the first, which may be back before the last is held.
func (p *place) holdAll(s broker.Session, n int) {
	p.Helper()
	p.must(s.Consume(p.ctx(), n))
	var list []broker.Delivery
	for i := range n {
		p.publish(fmt.Sprint(i))
	}
	for range n {
		list = append(list, p.receive(s))
	}
	outcomes := make(chan error, n)
	for _, d := range list {
		d.Settle(held(d), func(err error) { outcomes <- err })
	}
	for range n {
		p.must(<-outcomes)
	}
}

// allBack receives n messages that were held, and what comes beside them, and
// returns how many came.
func (p *place) allBack(s broker.Session, n int) (came int) {
	p.Helper()
	var back tally
	take := func(d broker.Delivery) {
		m := d.Message()
		back.add(string(m.Body))
		if came++; m.Attempt != 2 || d.Facts().Capture == nil || m.Origin.Key != "orders.in" {
			p.Errorf("%s came back as %+v", m.Body, m)
		}
		p.mustSettle(d, done)
	}
	for back.len() < n {
		take(p.receive(s))
	}
	ctx, cancel := context.WithTimeout(context.Background(), quiet)
	defer cancel()
	for {
		d, err := s.Receive(ctx)
		if err != nil {
			return came
		}
		take(d)
	}
}
