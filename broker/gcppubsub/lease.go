package gcppubsub

import (
	"time"
)

// keepLeases tells the broker that deliveries are still worked on, well before
// their leases end, for those that wait in hand as for those that run. A lease
// is not kept for longer than Config.MaxLease: a handler that hangs must not
// keep its message for ever.
func (s *session) keepLeases() {
	tick := time.NewTicker(max(s.source.deadline/6, 50*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			s.extending.Lock()
			for from, list := range s.due(now) {
				s.extend(flow(from), list)
			}
			s.extending.Unlock()
		case <-s.done:
			return
		}
	}
}

// due is what is to be extended now. What is beyond its bound is let go.
func (s *session) due(now time.Time) (lists [flows][]*delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range s.open {
		switch {
		case now.Sub(d.received) >= s.broker.conf.MaxLease:
			s.lapse(d)
		case now.Sub(d.touched) >= s.source.deadline/3 && !d.leaving:
			d.touched = now
			lists[d.flow] = append(lists[d.flow], d)
		}
	}
	return lists
}

// lapse lets an open delivery go: the broker will hand it out again, and a
// settlement would be of another delivery. The lock is held.
func (s *session) lapse(d *delivery) {
	if d.state == stateOpen {
		s.forget(d)
		d.state = stateLapsed
	}
}

// extend extends leases. A subscription with exactly-once delivery says which
// of them are over already.
func (s *session) extend(from flow, list []*delivery) {
	if len(list) == 0 {
		return
	}
	ids := make([]string, len(list))
	for i, d := range list {
		ids[i] = d.ackID
	}
	failed := s.conn.lease(s.over, s.subscriptions[from], ids, s.leaseSeconds())
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range list {
		if permanent(failed[d.ackID]) {
			s.lapse(d)
		}
	}
}
