package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Broker is one RabbitMQ. Its connections are made when the first session
// needs them. It may be used from many goroutines at once.
type Broker struct {
	conf    Config
	at      endpoint
	consume *link
	publish *link
	ctx     context.Context
	cancel  context.CancelFunc

	mu       sync.Mutex
	closed   bool
	sessions map[*session]bool
	outlets  map[*outlet]bool
	kinds    kinds
	work     sync.WaitGroup // what uses the links
}

var (
	_ broker.Broker    = (*Broker)(nil)
	_ broker.Sifter    = (*Broker)(nil)
	_ broker.Publisher = (*Broker)(nil)
	_ broker.Places    = (*Broker)(nil)
	_ broker.Outlets   = (*Broker)(nil)
)

// Open checks conf and connects nothing: a broker that is down is the first
// session's error, and nothing else waits for it. An error is of class
// [broker.ErrConfig] and has one line for each fault. The end of ctx does not
// end what was opened; [Broker.Close] does.
func Open(ctx context.Context, conf Config) (*Broker, error) {
	conf = conf.withDefaults()
	conf.TLS = conf.TLS.Clone()
	at, err := conf.check()
	if err != nil {
		return nil, err
	}
	b := &Broker{conf: conf, at: at, sessions: map[*session]bool{}, outlets: map[*outlet]bool{}}
	b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.consume = &link{at: at, conf: conf, role: "consume", ctx: b.ctx}
	b.publish = &link{at: at, conf: conf, role: "publish", ctx: b.ctx}
	return b, nil
}

// String is the broker's URL without the password.
func (b *Broker) String() string { return b.at.String() }

// Open implements [broker.Broker].
func (b *Broker) Open(ctx context.Context, sub broker.Subscription) (broker.Session, error) {
	if err := checkSubscription(sub); err != nil {
		return nil, err
	}
	if err := b.begin(); err != nil {
		return nil, err
	}
	defer b.work.Done()
	s, err := b.open(ctx, sub)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (b *Broker) open(ctx context.Context, sub broker.Subscription) (*session, error) {
	c, err := b.consume.get(ctx)
	if err != nil {
		return nil, err
	}
	l := b.layout(c, sub)
	if err := find(ctx, c, l); err != nil {
		return nil, err
	}
	if l.source, err = b.kinds.of(ctx, c, sub.Queue); err != nil {
		return nil, err
	}
	if err := l.source.check(sub.Queue); err != nil {
		b.kinds.forget(sub.Queue)
		return nil, err
	}
	found, err := declare(ctx, c, l)
	if err != nil {
		return nil, err
	}
	// A broker that lets us consume and not publish is no broker to start on.
	if _, err := b.publish.get(ctx); err != nil {
		return nil, err
	}
	s, err := newSession(ctx, b, c, sub, l, found.holdLimited)
	if err != nil {
		return nil, err
	}
	if !b.add(s) {
		s.end(broker.ErrClosed)
		return nil, broker.ErrClosed
	}
	if sub.Replies {
		if err := s.checkReplies(ctx); err != nil {
			return nil, err
		}
	}
	for _, text := range found.warnings {
		s.notify(broker.Notice{Kind: broker.NoticeWarning, Text: text})
	}
	return s, nil
}

func (b *Broker) layout(c *conn, sub broker.Subscription) layout {
	n := names{b.conf.Namespace}
	return layout{
		names: n, queue: sub.Queue, rungs: sub.Rungs, kind: b.conf.Rungs,
		parked: n.parked(sub.Queue, b.conf.SharedParked), server: c.server,
	}
}

// ParkedPlace is the queue where messages from queue are parked, and shared
// says that those of other sources are parked there, too. It is a matter of
// names alone: nothing is asked, and neither queue need exist.
func (b *Broker) ParkedPlace(queue string) (name string, shared bool) {
	shared = b.conf.SharedParked || serverNamed(queue)
	return names{b.conf.Namespace}.parked(queue, shared), shared
}

// HoldPlace is the queue where messages from queue wait in a hold. Like
// [Broker.ParkedPlace] it asks nothing: for a source without a hold
// ([broker.Capabilities]) there is no such queue.
func (b *Broker) HoldPlace(queue string) string { return holdName(queue) }

// Close implements [broker.Broker].
func (b *Broker) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	sessions, outlets := b.sessions, b.outlets
	b.sessions, b.outlets = nil, nil
	b.mu.Unlock()
	for s := range sessions {
		s.end(broker.ErrClosed)
	}
	for o := range outlets {
		o.copies.cancel(nil)
	}
	for s := range sessions {
		<-s.over
	}
	for o := range outlets {
		o.copies.stop()
		<-o.over
	}
	b.cancel()
	b.work.Wait()
	b.consume.end()
	b.publish.end()
	return nil
}

// begin counts in one user of the links, who says b.work.Done at the end.
func (b *Broker) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return broker.ErrClosed
	}
	b.work.Add(1)
	return nil
}

func (b *Broker) add(s *session) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.sessions[s] = true
	return true
}

func (b *Broker) remove(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sessions, s)
}

const (
	// maxQueue leaves room for the longest suffix of a name.
	maxQueue = maxShort - len(".parked")

	// maxRung is what RabbitMQ takes as a TTL.
	maxRung = (1<<32 - 1) * time.Millisecond
)

func checkSubscription(sub broker.Subscription) error {
	var errs []error
	if sub.Queue == "" || len(sub.Queue) > maxQueue {
		errs = append(errs, fmt.Errorf("rabbitmq: Subscription.Queue must have 1 to %d bytes, not %d", maxQueue, len(sub.Queue)))
	}
	for _, rung := range sub.Rungs {
		if rung < time.Millisecond || rung > maxRung || rung%time.Millisecond != 0 {
			errs = append(errs, fmt.Errorf("rabbitmq: Subscription.Rungs must be whole milliseconds from 1ms to %v, not %v", maxRung, rung))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\n%w", broker.ErrConfig, err)
	}
	return nil
}
