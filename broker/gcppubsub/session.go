package gcppubsub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// session implements [broker.Session].
type session struct {
	broker        *Broker
	conn          *conn
	sub           broker.Subscription
	source        found
	subscriptions [flows]string // full names
	acks          [flows]*acker
	workers       chan struct{} // a place for each call that a settlement has under way
	over          context.Context
	quit          context.CancelFunc
	replayers     []*replayer
	clampedOnce   sync.Once
	extending     sync.Mutex // held while leases are extended

	done   chan struct{}
	closed sync.WaitGroup // the session's goroutines

	mu      sync.Mutex
	changed chan struct{} // closed and made anew when something below changes
	err     error
	intake
	open   map[*delivery]struct{}
	handed int // settlements under way
}

var _ broker.Session = (*session)(nil)

// callsAtOnce is how many copies and delays a session has under way at most.
const callsAtOnce = 64

func newSession(b *Broker, c *conn, sub broker.Subscription, f found) *session {
	s := &session{
		broker: b, conn: c, sub: sub, source: f, done: make(chan struct{}), changed: make(chan struct{}),
		open: map[*delivery]struct{}{}, workers: make(chan struct{}, callsAtOnce),
	}
	s.keys = map[string]*delivery{}
	s.over, s.quit = context.WithCancel(context.Background())
	s.subscriptions = [flows]string{f.path, b.names.place(f.source, backSuffix).subscription()}
	for i := range s.acks {
		s.acks[i] = &acker{session: s, subscription: s.subscriptions[i]}
	}
	kinds := []string{holdSuffix}
	if _, retries := f.kinds(len(sub.Rungs))[kindRetry]; retries {
		kinds = append(kinds, retrySuffix)
	}
	for _, suffix := range kinds {
		s.replayers = append(s.replayers, newReplayer(s, b.names.place(f.source, suffix), suffix == holdSuffix))
	}
	s.closed.Go(s.watch)
	s.closed.Go(s.receive)
	s.closed.Go(s.keepLeases)
	for _, r := range s.replayers {
		s.closed.Go(r.run)
	}
	return s
}

// watch ends the session with its connection.
func (s *session) watch() {
	select {
	case <-s.conn.dead:
		s.end(s.conn.why())
	case <-s.done:
	}
}

func (s *session) Done() <-chan struct{} { return s.done }

func (s *session) names() names { return s.broker.names }

func (s *session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// wake tells whoever waits for a change to look again. The lock is held.
func (s *session) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until ok, which is called with the lock held, or until the
// session or ctx ends.
func (s *session) await(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
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

// Probe asks for the source and its places anew: connected is not consuming,
// and a topic without its subscription keeps nothing. That pulls
// are answered is watched all the time.
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
	case f.counted() != s.source.counted() || f.topic != s.source.topic:
		return fmt.Errorf("gcppubsub: subscription %s was changed: %w", s.source.queue, broker.ErrDetached)
	}
	return s.places(ctx)
}

func (s *session) places(ctx context.Context) error {
	for _, suffix := range s.source.kinds(len(s.sub.Rungs)) {
		_, err := s.conn.subscription(ctx, s.names().place(s.source.source, suffix).subscription())
		if errors.Is(err, broker.ErrMissing) {
			return fmt.Errorf("%w: %w", broker.ErrDetached, err)
		}
		if err != nil && !errors.Is(err, broker.ErrPermission) {
			return err
		}
	}
	return nil
}

// Close gives back by a negative acknowledgement, which Pub/Sub counts as it
// would count the end of a lease, and which lets others have the messages at
// once.
func (s *session) Close(ctx context.Context) error {
	err := s.Pause(ctx)
	if err == nil {
		err = s.await(ctx, func() bool { return s.handed == 0 })
	}
	if s.Err() != nil {
		s.closed.Wait()
		return nil
	}
	s.giveBack(ctx)
	s.end(broker.ErrClosed)
	s.closed.Wait()
	if err != nil {
		return fmt.Errorf("gcppubsub: settlements were cut off: %w", err)
	}
	return nil
}

// giveBack releases what is open, oldest first. Whatever stands in the way,
// the end of the lease does it too.
func (s *session) giveBack(ctx context.Context) {
	var ids [flows][]string
	for _, d := range s.abandon() {
		ids[d.flow] = append(ids[d.flow], d.ackID)
	}
	for from, list := range ids {
		s.conn.lease(ctx, s.subscriptions[from], list, 0)
	}
}

// abandon takes all open deliveries out of the session, in the order in which
// they came.
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
	slices.SortFunc(list, func(a, b *delivery) int { return a.received.Compare(b.received) })
	return list
}

// end ends the session. What is open then is remembered for the next session
// of this process, which gives it back at once: the lease may be long.
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
	s.quit()
	open := s.abandon()
	if !errors.Is(reason, broker.ErrClosed) {
		var lost []lostDelivery
		for _, d := range open {
			lost = append(lost, lostDelivery{d.subscription(), d.ackID, d.touched.Add(s.source.deadline * 9 / 10)})
		}
		s.broker.lose(s.source.source, lost)
	}
	s.broker.remove(s)
}

func (s *session) notify(kind broker.NoticeKind, text string) {
	if s.sub.Notify != nil {
		s.sub.Notify(broker.Notice{Kind: kind, Text: text})
	}
}

// leaseSeconds is what a lease is extended by: the owner's own ack deadline,
// so that a process that is gone is noticed as soon as the owner wants.
func (s *session) leaseSeconds() int32 { return int32(s.source.deadline / time.Second) }
