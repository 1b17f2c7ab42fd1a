package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

// session implements [broker.Session].
type session struct {
	broker *Broker
	conn   *conn
	sub    broker.Subscription
	source found
	acks   [flows]*acker
	pulls  *pulls

	advice  *nats.Subscription // on messages that reached MaxDeliver; or nil
	advised chan uint64        // their sequences

	done   chan struct{}
	closed sync.WaitGroup // the session's goroutines

	mu  sync.Mutex
	err error
	intake
	open    map[*delivery]struct{}
	handed  int           // settlements under way
	changed chan struct{} // made by whoever waits for a change, and closed by the next
}

var _ broker.Session = (*session)(nil)

func newSession(ctx context.Context, b *Broker, c *conn, sub broker.Subscription, f found) (*session, error) {
	s := &session{
		broker: b, conn: c, sub: sub, source: f, done: make(chan struct{}),
		intake: newIntake(), open: map[*delivery]struct{}{}, advised: make(chan uint64),
	}
	for i := range s.acks {
		s.acks[i] = newAcker(s)
	}
	var err error
	if s.pulls, err = newPulls(s); err != nil {
		return nil, classify("subscribe", err)
	}
	if f.maxDeliver > 0 {
		if err := s.hearExceeded(ctx); err != nil {
			s.end(err)
			return nil, err
		}
	}
	s.closed.Go(s.watch)
	s.closed.Go(s.pulls.run)
	s.closed.Go(s.keepAlive)
	return s, nil
}

// watch ends the session with its connection.
func (s *session) watch() {
	select {
	case <-s.conn.dead:
		s.end(s.conn.why())
	case <-s.done:
	}
}

func (s *session) Capabilities() broker.Capabilities {
	return broker.Capabilities{
		Broker: "NATS " + s.conn.nc.ConnectedServerVersion(),
		Delay:  true, Hold: !s.source.transient, Stamp: true, Counts: true,
	}
}

func (s *session) Done() <-chan struct{} { return s.done }

func (s *session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// wake tells whoever waits for a change to look again. The lock is held. A
// message passes here several times: where nobody waits it costs nothing.
func (s *session) wake() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// await waits until ok, which is called with the lock held, or until the
// session or ctx ends.
func (s *session) await(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		met, err, changed := ok(), s.err, s.changed
		s.mu.Unlock()
		switch {
		case met:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Probe asks for the consumer anew: connected is not consuming. That pull
// requests are answered is watched all the time.
func (s *session) Probe(ctx context.Context) error {
	if err := s.Err(); err != nil {
		return err
	}
	f, err := s.conn.find(ctx, s.source.source)
	switch {
	case errors.Is(err, broker.ErrMissing), errors.Is(err, broker.ErrMismatch):
		return fmt.Errorf("%w: %w", broker.ErrDetached, err)
	case err != nil:
		return err
	case f.created != s.source.created:
		return fmt.Errorf("jetstream: consumer %v was made anew: %w", s.source.source, broker.ErrDetached)
	case f.maxDeliver != s.source.maxDeliver || f.ackWait != s.source.ackWait:
		return fmt.Errorf("jetstream: consumer %v was changed: %w", s.source.source, broker.ErrDetached)
	}
	return nil
}

// Close gives back by a negative acknowledgement, which JetStream counts as
// it would count the end of the ack wait, and which lets others have the
// messages at once.
func (s *session) Close(ctx context.Context) error {
	err := s.Pause(ctx)
	if err == nil {
		err = s.await(ctx, func() bool { return s.handed == 0 })
	}
	if s.Err() != nil {
		s.closed.Wait()
		return nil
	}
	s.leave(ctx)
	s.closed.Wait()
	if err != nil {
		return fmt.Errorf("jetstream: settlements were cut off: %w", err)
	}
	return nil
}

// leave gives back what is open and ends the session. Before that it waits
// until the server has read it: whatever stands in the way, the end of the ack
// wait does it too.
func (s *session) leave(ctx context.Context) {
	s.giveBack(s.abandon()...)
	_ = s.conn.flush(ctx)
	s.end(broker.ErrClosed)
}

// giveBack lets others have deliveries that nobody will settle, at once. What
// the server cannot be told is remembered for another session of this process,
// and so is, once this one is over, what may reach MaxDeliver by it: somebody
// must hear of that.
func (s *session) giveBack(list ...*delivery) {
	told := s.conn.alive() && (s.source.maxDeliver == 0 || s.Err() == nil)
	for _, d := range list {
		if !told || s.conn.nc.Publish(d.raw.Reply, ackNak) != nil {
			s.broker.lose(d)
		}
	}
}

// abandon takes all open deliveries out of the session, in the order of their
// streams.
func (s *session) abandon() []*delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*delivery
	for d := range s.open {
		if d.state == stateOpen {
			d.state = stateSettled
			list = append(list, d)
			delete(s.open, d)
		}
	}
	s.buffer = nil
	slices.SortFunc(list, func(a, b *delivery) int { return int(int64(a.seq) - int64(b.seq)) })
	return list
}

// end ends the session. What is open then is given back: the ack wait may be
// long.
func (s *session) end(reason error) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	s.err = reason
	s.prefetch = 0
	close(s.done)
	s.wake()
	s.mu.Unlock()
	s.giveBack(s.abandon()...)
	s.pulls.end()
	if s.advice != nil {
		_ = s.advice.Unsubscribe()
	}
	s.broker.remove(s)
}

func (s *session) notify(kind broker.NoticeKind, text string) {
	if s.sub.Notify != nil {
		s.sub.Notify(broker.Notice{Kind: kind, Text: text})
	}
}

// keepAlive tells the server that deliveries are still worked on, well before
// its ack wait ends, for those that wait in hand as for those that run: three
// eighths of it pass at most, and the rest is for a machine that is busy. It
// also gives back what another session has lost since this one began.
func (s *session) keepAlive() {
	tick := time.NewTicker(max(s.source.ackWait/8, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			for _, reply := range s.due(now) {
				_ = s.conn.nc.Publish(reply, ackProgress) // the connection's end is seen elsewhere
			}
			s.broker.returnLost(s.conn, s.source)
		case <-s.done:
			return
		}
	}
}

func (s *session) due(now time.Time) (replies []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range s.open {
		if now.Sub(d.touched) >= s.source.ackWait/4 {
			d.touched = now
			replies = append(replies, d.raw.Reply)
		}
	}
	return replies
}
