package jetstream_test

import (
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/test/faultproxy"
)

// TestRepeatedCopy: the server stored the copy and its answer was lost. The
// message comes again and is settled as before: there is one copy.
func TestRepeatedCopy(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		stream string
		set    func(broker.Delivery) broker.Settlement
	}{
		"parked":  {parkedStream, parked},
		"held":    {workStream, held},
		"delayed": {workStream, func(d broker.Delivery) broker.Settlement { return delayed(d, time.Minute) }},
		"stamped": {workStream, func(d broker.Delivery) broker.Settlement {
			return broker.Settlement{Fate: broker.FateRelease, Capture: capture(d)}
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			queue := p.queue(waiting(time.Second))
			proxy, through := faultproxy.Before(t, p.url)
			b := p.open(via(through))
			s := p.consuming(b, queue, 1)
			p.publish("bad")
			d := p.receive(s)
			proxy.Swallow(true)
			outcome := make(chan error, 1)
			d.Settle(c.set(d), func(err error) { outcome <- err })
			p.wantStored(c.stream, 1)
			proxy.Cut()
			wantErr(t, <-outcome, broker.ErrUnknown)
			proxy.Swallow(false)
			p.wantStored("ORDERS", 1) // nothing was acknowledged
			_ = p.ended(s, patience)
			again := p.session(p.open(), broker.Subscription{Queue: queue, Rungs: rungs, Hold: time.Minute})
			p.must(again.Consume(p.ctx(), 1))
			d = p.receive(again)
			if d.Facts().Capture != nil { // the stamped copy came first: it is at the source already
				p.must(again.Pause(p.ctx()))
				p.mustSettle(d, done)
				p.must(again.Consume(p.ctx(), 1))
				d = p.receive(again)
			}
			p.mustSettle(d, c.set(d))
			p.wantStored("ORDERS", 0)
			if n := p.stored(c.stream); n > 1 || what != "stamped" && n != 1 {
				t.Errorf("%d copies", n)
			}
		})
	}
}
