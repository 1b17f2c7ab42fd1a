package gcppubsub

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Broker is Pub/Sub as one project sees it. Its connection is made when the
// first session needs it, and shared by all. It may be used from many
// goroutines at once.
type Broker struct {
	conf  Config
	names names

	dialing chan struct{} // a place to stand in: one dials at a time

	mu       sync.Mutex
	closed   bool
	conn     *conn
	sessions map[*session]bool
	lost     map[string][]lostDelivery
}

var (
	_ broker.Broker    = (*Broker)(nil)
	_ broker.Sifter    = (*Broker)(nil)
	_ broker.Publisher = (*Broker)(nil)
	_ broker.Places    = (*Broker)(nil)
)

// lostDelivery is one that was open when its connection was lost.
type lostDelivery struct {
	subscription, ackID string
	until               time.Time // its lease, and a little less
}

// Open checks conf and connects nothing: a service that does not answer is the
// first session's error. An error is of class [broker.ErrConfig] and has one
// line for each fault.
func Open(_ context.Context, conf Config) (*Broker, error) {
	conf = conf.withDefaults()
	if err := conf.check(); err != nil {
		return nil, err
	}
	return &Broker{
		conf: conf, names: names{conf.Project, conf.Namespace}, dialing: make(chan struct{}, 1),
		sessions: map[*session]bool{}, lost: map[string][]lostDelivery{},
	}, nil
}

// Open implements [broker.Broker].
func (b *Broker) Open(ctx context.Context, sub broker.Subscription) (broker.Session, error) {
	src, err := b.names.source(sub.Queue)
	if err != nil {
		return nil, err
	}
	if err := checkWaits(sub); err != nil {
		return nil, err
	}
	c, err := b.connection(ctx)
	if err != nil {
		return nil, err
	}
	f, err := c.find(ctx, src)
	if err != nil {
		return nil, err
	}
	warnings, err := c.ensure(ctx, b.names, f, f.kinds(len(sub.Rungs)), b.conf.Retention)
	if err != nil {
		return nil, err
	}
	b.returnLost(ctx, c, src)
	s := newSession(b, c, sub, f)
	if !b.add(s) {
		s.end(broker.ErrClosed)
		return nil, fmt.Errorf("gcppubsub: %w", broker.ErrClosed)
	}
	for _, text := range append(f.warnings, warnings...) {
		s.notify(broker.NoticeWarning, text)
	}
	return s, nil
}

func checkWaits(sub broker.Subscription) error {
	for _, wait := range append(slices.Clone(sub.Rungs), max(sub.Hold, time.Millisecond)) {
		if wait < time.Millisecond {
			return fmt.Errorf("%w: gcppubsub: Subscription.Rungs must be 1ms or more, not %v", broker.ErrConfig, wait)
		}
	}
	return nil
}

// connection returns the connection, and makes one where none lives.
func (b *Broker) connection(ctx context.Context) (*conn, error) {
	select {
	case b.dialing <- struct{}{}:
		defer func() { <-b.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c, err := b.living(); c != nil || err != nil {
		return c, err
	}
	c, err := dial(b.conf)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		c.close()
		return nil, fmt.Errorf("gcppubsub: %w", broker.ErrClosed)
	}
	b.conn = c
	return c, nil
}

func (b *Broker) living() (*conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return nil, fmt.Errorf("gcppubsub: %w", broker.ErrClosed)
	case b.conn != nil && b.conn.alive():
		return b.conn, nil
	}
	return nil, nil
}

// Close implements [broker.Broker].
func (b *Broker) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	sessions, c := slices.Collect(maps.Keys(b.sessions)), b.conn
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), b.conf.CallTimeout)
	defer cancel()
	for _, s := range sessions {
		s.giveBack(ctx)
		s.end(broker.ErrClosed)
	}
	for _, s := range sessions {
		s.closed.Wait()
	}
	if c != nil {
		c.close()
	}
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

// lose remembers deliveries that a lost connection left open.
func (b *Broker) lose(src source, list []lostDelivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost[src.path] = append(b.lost[src.path], list...)
}

// returnLost gives back what an earlier session of this process has lost, so
// that nobody waits for the end of the lease. What may have reached that end
// is somebody else's by now.
func (b *Broker) returnLost(ctx context.Context, c *conn, src source) {
	b.mu.Lock()
	list := b.lost[src.path]
	delete(b.lost, src.path)
	b.mu.Unlock()
	ids := map[string][]string{}
	for _, d := range list {
		if time.Now().Before(d.until) {
			ids[d.subscription] = append(ids[d.subscription], d.ackID)
		}
	}
	for subscription, ids := range ids {
		c.lease(ctx, subscription, ids, 0) // else the end of the lease does it
	}
}

// ParkedPlace is the subscription in which messages from queue are parked. A
// name that is no queue has no place.
func (b *Broker) ParkedPlace(queue string) (name string, shared bool) {
	return b.placeOf(queue, parkedSuffix), false
}

// HoldPlace is the subscription in which held messages of queue wait.
func (b *Broker) HoldPlace(queue string) string { return b.placeOf(queue, holdSuffix) }

func (b *Broker) placeOf(queue, suffix string) string {
	src, err := b.names.source(queue)
	if err != nil {
		return queue + suffix // which is no queue either, and is said to be missing
	}
	return b.names.place(src, suffix).id
}
