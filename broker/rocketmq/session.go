package rocketmq

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
	broker *Broker
	sub    broker.Subscription
	source found

	done   chan struct{}
	closed sync.WaitGroup // the session's goroutines

	mu      sync.Mutex
	changed chan struct{} // made by whoever waits for a change, and closed by the next
	err     error
	intake
	open    map[*delivery]struct{}
	handed  int       // settlements under way
	heard   time.Time // when a pop was answered last
	clamped bool      // a warning told of a delay that was too long
}

var _ broker.Session = (*session)(nil)

func newSession(b *Broker, sub broker.Subscription, f found) *session {
	return &session{
		broker: b, sub: sub, source: f, done: make(chan struct{}),
		open: map[*delivery]struct{}{}, heard: time.Now(),
	}
}

func (s *session) start() {
	for _, at := range s.source.sites {
		s.closed.Go(func() { s.watch(at) })
	}
	s.closed.Go(s.pop)
	s.closed.Go(s.keepAlive)
	s.closed.Go(s.beat)
	for _, text := range s.source.warnings {
		s.notify(broker.NoticeWarning, text)
	}
}

// watch ends the session with the connection to one of its brokers: the next
// one takes what is there then.
func (s *session) watch(at *site) {
	select {
	case <-at.conn.dead:
		s.end(at.conn.why())
	case <-s.done:
	}
}

// Capabilities implements [broker.Session].
func (s *session) Capabilities() broker.Capabilities {
	product := "RocketMQ"
	if v := s.source.settings.version; v != "" {
		product += " " + v
	}
	return broker.Capabilities{
		Broker: product, Delay: true, Hold: true, Stamp: true, Counts: true, Attempts: true, MaxHeaders: maxHeaders,
	}
}

// Done implements [broker.Session].
func (s *session) Done() <-chan struct{} { return s.done }

// Err implements [broker.Session].
func (s *session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// wake tells whoever waits for a change to look again. The lock is held.
func (s *session) wake() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// waitForChange is closed by the next wake. The lock is held.
func (s *session) waitForChange() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// await waits until ok, which is called with the lock held, or until the
// session or ctx ends.
func (s *session) await(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		met, err, changed := ok(), s.err, s.waitForChange()
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

// Probe asks for topic and group anew, and whether pops are answered:
// connected is not consuming.
func (s *session) Probe(ctx context.Context) error {
	s.mu.Lock()
	err, heard, asking := s.err, s.heard, s.asking > 0
	s.mu.Unlock()
	switch {
	case err != nil:
		return err
	case asking && time.Since(heard) > popFor+silence:
		return fmt.Errorf("rocketmq: queue %v: no pop was answered for %v: %w", s.source.source, time.Since(heard), broker.ErrDetached)
	}
	return s.broker.gone(ctx, s.source)
}

// Close gives back by ending the lease, which RocketMQ counts as it would
// count the end of it, and which lets others have the messages sooner.
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
		return fmt.Errorf("rocketmq: settlements were cut off: %w", err)
	}
	return nil
}

// giveBack releases what is open, oldest first, and waits until the brokers
// have answered. Whatever stands in the way, the end of the lease does it too.
func (s *session) giveBack(ctx context.Context) {
	list := s.abandon()
	answered := make(chan struct{}, len(list))
	for _, d := range list {
		over := func() { answered <- struct{}{} }
		s.whenKnown(d, over, func() {
			d.afterGap(func() {
				s.site(d.handle.broker).conn.hide(d.handle, s.source.group, 0, func(handle, error) { over() })
			})
		})
	}
	for range list {
		select {
		case <-answered:
		case <-ctx.Done():
			return
		}
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
	slices.SortFunc(list, func(a, b *delivery) int { return int(a.number - b.number) })
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
	lost := s.abandon()
	if !errors.Is(reason, broker.ErrClosed) {
		s.lose(lost)
	}
	s.broker.remove(s)
}

// lose leaves deliveries to the next session of this process. One whose lease
// is just being renewed is left to the end of that.
func (s *session) lose(list []*delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range list {
		if !d.renewing {
			s.broker.lose(s.source.source, lostDelivery{d.handle, d.touched})
		}
	}
}

func (s *session) notify(kind broker.NoticeKind, text string) {
	if s.sub.Notify != nil {
		s.sub.Notify(broker.Notice{Kind: kind, Text: text})
	}
}

// site is the broker of that name, or nil.
func (s *session) site(name string) *site {
	for _, at := range s.source.sites {
		if at.name == name {
			return at
		}
	}
	return nil
}
