package awssqs

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// longestHidden is for how long SQS hides a message at most, counted from
	// its receive.
	longestHidden = 12 * time.Hour

	// wallMargin is for the way of the requests: past the wall an extension is
	// an error.
	wallMargin = 2 * time.Second
)

// sure is how long a visibility timeout can be relied on: its beginning is known
// but for the way of an answer.
func sure(lease time.Duration) time.Duration { return lease - lease/20 }

// keepLeases extends the visibility of open deliveries well before it ends, for
// those that wait in hand as for those that run, up to the wall of SQS.
func (s *session) keepLeases() {
	tick := time.NewTicker(s.broker.conf.Lease / 6)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			s.loseExpired(now)
			for batch := range slices.Chunk(s.due(now), maxBatch) {
				s.extend(batch)
			}
		case <-s.done:
			return
		}
	}
}

// due takes the deliveries whose lease is to be extended now.
func (s *session) due(now time.Time) (list []*delivery) {
	lease := s.broker.conf.Lease
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range s.open {
		kept := d.state == stateOpen || d.state == stateHanded
		if kept && !d.beating && d.until.Sub(now) < lease*2/3 && d.wall.Sub(d.until) >= time.Second {
			d.beating = true
			list = append(list, d)
		}
	}
	return list
}

func (s *session) extend(batch []*delivery) {
	lease, now := s.broker.conf.Lease, time.Now()
	hidings := make([]hiding, len(batch))
	until := make([]time.Time, len(batch))
	for i, d := range batch {
		span := min(lease, d.wall.Sub(now)).Truncate(time.Second)
		hidings[i] = hiding{d.letter.receipt, int32(span / time.Second)}
		until[i] = now.Add(sure(span))
	}
	results := s.client.hide(s.ctx, s.source.url, hidings)
	for i, d := range batch {
		s.extended(d, until[i], results[i])
	}
}

// extended takes the answer. A lease that was refused ends when it ends; where
// the call failed the next tick tries again.
func (s *session) extended(d *delivery, until time.Time, err error) {
	s.mu.Lock()
	if err == nil {
		d.until = until
	}
	s.unkept = err
	d.beating = false
	after := d.after
	d.after = nil
	s.mu.Unlock()
	if after != nil {
		after()
	}
}

// loseExpired takes out what SQS may have given to another consumer by now. When
// that is because SQS could not be asked, the session is over: nothing it has
// can be settled.
func (s *session) loseExpired(now time.Time) {
	var lost []*delivery
	s.mu.Lock()
	for d := range s.open {
		if d.state == stateOpen && now.After(d.until) {
			lost = append(lost, d)
		}
	}
	for _, d := range lost {
		s.buffer = slices.DeleteFunc(s.buffer, func(o *delivery) bool { return o == d })
		s.forget(d, stateLost)
	}
	why := s.unkept
	s.mu.Unlock()
	for _, d := range lost {
		s.warn(lostText(d))
	}
	if len(lost) > 0 && errors.Is(why, broker.ErrUnreachable) {
		s.end(why)
	}
}

func lostText(d *delivery) string {
	return fmt.Sprintf("message %.100s was not settled before its lease ended, and comes again; a handler may take %v at most", d.letter.firstID(), longestHidden)
}

// errLost is what a settlement gets that comes too late.
func errLost(d *delivery) error {
	return fmt.Errorf("awssqs: settle: the lease of message %.100s has ended: %w", d.letter.firstID(), broker.ErrClosed)
}

// clamp bounds a wait by what SQS can still hide this delivery for, and warns
// once in a session that it did.
func (s *session) clamp(d *delivery, wait time.Duration) time.Duration {
	room := time.Until(d.wall).Truncate(time.Second)
	if wait <= room {
		return wait
	}
	s.mu.Lock()
	first := !s.clamped
	s.clamped = true
	s.mu.Unlock()
	if first {
		s.warn(fmt.Sprintf("a delay of %v is cut to %v: SQS hides a message for %v at most after it was received", wait, room, longestHidden))
	}
	return max(room, 0)
}
