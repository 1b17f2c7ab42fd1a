package rocketmq

import (
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// stamp is how far apart two changes of one message's lease must be. A broker
// knows a lease by the millisecond in which it began; two that begin in the
// same one are the same to it, and the end of the first would be the end of
// the message.
const stamp = 3 * time.Millisecond

// afterGap calls do once the broker can tell a new lease from the one of now.
func (d *delivery) afterGap(do func()) {
	if wait := stamp - time.Since(d.touched); wait > 0 {
		time.AfterFunc(wait, do)
		return
	}
	do()
}

// keepAlive renews the leases of what is open, well before they end, for
// deliveries that wait in hand as for those that run.
func (s *session) keepAlive() {
	lease := s.broker.conf.Lease
	tick := time.NewTicker(lease / 6)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			for _, d := range s.due(now) {
				s.renew(d)
			}
		case <-s.done:
			return
		}
	}
}

func (s *session) due(now time.Time) (list []*delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range s.open {
		if !d.ending && !d.renewing && now.Sub(d.touched) >= s.broker.conf.Lease/3 {
			d.renewing = true
			list = append(list, d)
		}
	}
	return list
}

// renew begins a new lease. While it is under way nobody can say by which
// handle the broker knows the message, so that a settlement waits for it.
func (s *session) renew(d *delivery) {
	began := time.Now()
	s.site(d.handle.broker).conn.hide(d.handle, s.source.group, s.broker.conf.Lease, func(h handle, err error) {
		s.mu.Lock()
		if err == nil {
			d.handle, d.touched = h, began
		}
		d.renewing = false
		after := d.after
		d.after = nil
		s.mu.Unlock()
		if err != nil && codeOf(err) < 0 {
			s.end(err) // nobody knows which handle it is now
		}
		if after != nil {
			after()
		}
	})
}

// whenKnown calls do once the delivery's handle is known, or lost when its lease
// has ended by then. From then on the handle stays the same: what is about to
// end is not renewed any more.
func (s *session) whenKnown(d *delivery, lost, do func()) {
	end := func() {
		s.mu.Lock()
		lapsed := s.lapsed(d)
		s.mu.Unlock()
		if lapsed {
			lost()
			return
		}
		do()
	}
	s.mu.Lock()
	d.ending = true
	if d.renewing {
		d.after = end
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	end()
}

func (s *session) errLapsed() error {
	return fmt.Errorf("rocketmq: a lease of %v ended: the process stood still, or its broker did: %w", s.broker.conf.Lease, broker.ErrUnreachable)
}

// lapsed reports whether the lease may have ended: the message is somebody
// else's then, and the broker would take its acknowledgement without a word.
// The lock is held.
func (s *session) lapsed(d *delivery) bool {
	return time.Since(d.touched) >= s.broker.conf.Lease*9/10
}
