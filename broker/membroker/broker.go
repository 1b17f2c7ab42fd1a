package membroker

import (
	"context"
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

// Broker is one client of a broker in memory. Its methods may be called from
// many goroutines at once.
//
// It implements [broker.Broker], [broker.Sifter], [broker.Publisher],
// [broker.Outlets], [broker.Places] and [broker.Surveyor].
type Broker struct {
	server *server
	closed bool
}

var (
	_ broker.Broker    = (*Broker)(nil)
	_ broker.Sifter    = (*Broker)(nil)
	_ broker.Publisher = (*Broker)(nil)
	_ broker.Outlets   = (*Broker)(nil)
	_ broker.Places    = (*Broker)(nil)
)

// New makes an empty broker.
func New(opts ...Option) *Broker {
	return &Broker{server: newServer(capabilities(opts))}
}

// Peer is another client of the same broker, as another process would be: it
// sees the same queues, and the end of one does not end the other.
func (b *Broker) Peer() *Broker { return &Broker{server: b.server} }

// DeclareQueue makes a queue; a queue that is there stays as it is.
func (b *Broker) DeclareQueue(name string) {
	b.server.lock()
	defer b.server.unlock()
	b.server.declare(name)
}

// DeclareTransientQueue makes a queue whose sessions do not declare a hold,
// since such a queue may be gone when the hold ends.
func (b *Broker) DeclareTransientQueue(name string) {
	b.server.lock()
	defer b.server.unlock()
	b.server.declare(name).transient = true
}

// Bind leads what is published to exchange with key to queue, as often as it
// is called with different queues to each of them. It makes the exchange.
func (b *Broker) Bind(exchange, key, queue string) {
	b.server.lock()
	defer b.server.unlock()
	r := route{exchange, key}
	b.server.bindings[r] = append(b.server.bindings[r], queue)
}

// Open implements [broker.Broker].
func (b *Broker) Open(ctx context.Context, sub broker.Subscription) (broker.Session, error) {
	b.server.lock()
	defer b.server.unlock()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	q := b.server.queues[sub.Queue]
	if q == nil {
		return nil, fmt.Errorf("membroker: open %q: %w", sub.Queue, broker.ErrMissing)
	}
	s := newSession(b, q, sub)
	s.declarePlaces()
	b.server.sessions = append(b.server.sessions, s)
	if reason := b.server.faults.blocked; reason != "" {
		s.notify(broker.NoticeBlocked, reason)
	}
	return s, nil
}

// usable is what every call asks first.
func (b *Broker) usable(ctx context.Context) error {
	switch {
	case b.closed:
		return fmt.Errorf("membroker: %w", broker.ErrClosed)
	case ctx.Err() != nil:
		return fmt.Errorf("membroker: %w", ctx.Err())
	case b.server.faults.stopped:
		return fmt.Errorf("membroker: stopped: %w", broker.ErrUnreachable)
	case b.server.faults.refusal != nil:
		return fmt.Errorf("membroker: told to refuse: %w", b.server.faults.refusal)
	}
	return nil
}

// Close implements [broker.Broker]. The queues stay with the peers.
func (b *Broker) Close() error {
	b.server.lock()
	defer b.server.unlock()
	b.closed = true
	b.endAll(broker.ErrClosed, !b.server.caps.FreeRelease)
	return nil
}

// endAll ends whatever goes on over this client's connection.
func (b *Broker) endAll(reason error, charge bool) {
	for _, s := range b.server.sessionsOf(func(s *session) bool { return s.broker == b }) {
		s.end(reason, charge)
	}
	b.server.endSiftings(b, reason)
	for _, o := range b.server.outletsOf(func(o *outlet) bool { return o.broker == b }) {
		o.end(reason)
	}
}
