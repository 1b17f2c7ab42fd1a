package jetstream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Broker is one JetStream account. Its connection is made when the first
// session needs it, and shared by all. It may be used from many goroutines at
// once.
type Broker struct {
	conf  Config
	names names

	dialing chan struct{} // a place to stand in: one dials at a time

	mu       sync.Mutex
	closed   bool
	conn     *conn
	sessions map[*session]bool
	lost     map[source][]lostDelivery
}

var (
	_ broker.Broker    = (*Broker)(nil)
	_ broker.Sifter    = (*Broker)(nil)
	_ broker.Publisher = (*Broker)(nil)
	_ broker.Places    = (*Broker)(nil)
)

// lostDelivery is one that a session could not settle and not give back.
type lostDelivery struct {
	reply   string
	created string // of the consumer that delivered it
	touched time.Time
}

// Open checks conf and connects nothing: a server that is down is the first
// session's error. An error is of class [broker.ErrConfig] and has one line
// for each fault.
func Open(_ context.Context, conf Config) (*Broker, error) {
	conf = conf.withDefaults()
	if err := conf.check(); err != nil {
		return nil, err
	}
	return &Broker{
		conf: conf, names: names{conf.Namespace}, dialing: make(chan struct{}, 1),
		sessions: map[*session]bool{}, lost: map[source][]lostDelivery{},
	}, nil
}

// Open implements [broker.Broker].
func (b *Broker) Open(ctx context.Context, sub broker.Subscription) (broker.Session, error) {
	src, err := checkSubscription(sub)
	if err != nil {
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
	if err := c.ensure(ctx, b.names, f, b.conf.Replicas); err != nil {
		return nil, err
	}
	if err := c.mayAll(ctx, b.names, f); err != nil {
		return nil, err
	}
	s, err := newSession(ctx, b, c, sub, f)
	if err != nil {
		return nil, err
	}
	b.returnLost(c, f) // the session hears of what MaxDeliver ends by this
	if !b.add(s) {
		s.end(broker.ErrClosed)
		return nil, fmt.Errorf("jetstream: %w", broker.ErrClosed)
	}
	for _, text := range f.warnings {
		s.notify(broker.NoticeWarning, text)
	}
	return s, nil
}

func checkSubscription(sub broker.Subscription) (source, error) {
	src, err := parseSource(sub.Queue)
	if err != nil {
		return source{}, err
	}
	for _, rung := range sub.Rungs {
		if rung < time.Millisecond {
			return source{}, fmt.Errorf("%w: jetstream: Subscription.Rungs must be 1ms or more, not %v", broker.ErrConfig, rung)
		}
	}
	return src, nil
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
		return nil, fmt.Errorf("jetstream: %w", broker.ErrClosed)
	}
	b.conn = c
	return c, nil
}

func (b *Broker) living() (*conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return nil, fmt.Errorf("jetstream: %w", broker.ErrClosed)
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
		s.leave(ctx)
	}
	for _, s := range sessions {
		s.closed.Wait()
	}
	if c != nil {
		awaitQuiet(ctx, c, sessions)
		c.close()
	}
	return nil
}

// awaitQuiet waits until what the server had sent before it knew of the end has
// come, and was given back.
func awaitQuiet(ctx context.Context, c *conn, sessions []*session) {
	if c.flush(ctx) != nil {
		return // it does not answer, and the ack wait does it
	}
	for _, s := range sessions {
		s.pulls.open.Wait()
	}
}

func (b *Broker) add(s *session) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	if s.Err() == nil { // else it is over already, and nobody would take it out
		b.sessions[s] = true
	}
	return true
}

func (b *Broker) remove(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sessions, s)
}

// lose remembers deliveries that the server could not be told of.
func (b *Broker) lose(list ...*delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range list {
		f := d.session.source
		b.lost[f.source] = append(b.lost[f.source], lostDelivery{d.raw.Reply, f.created, d.touched})
	}
}

// returnLost gives back what another session of this process has lost, so
// that nobody waits for the end of the ack wait. What may have reached that
// end is somebody else's by now, and a consumer that was made anew never gave it.
// Of what was acknowledged after all the server takes nothing back.
func (b *Broker) returnLost(c *conn, f found) {
	b.mu.Lock()
	list := b.lost[f.source]
	delete(b.lost, f.source)
	b.mu.Unlock()
	for _, d := range list {
		if d.created == f.created && time.Since(d.touched) < f.ackWait*9/10 {
			_ = c.nc.Publish(d.reply, ackNak) // else the ack wait does it
		}
	}
}

// ParkedPlace is where messages from queue are parked. The stream is shared,
// the place is not.
func (b *Broker) ParkedPlace(queue string) (name string, shared bool) {
	return queue + parkedSuffix, false
}

// HoldPlace is where held messages of queue wait.
func (b *Broker) HoldPlace(queue string) string { return queue + holdSuffix }
