package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// session is one attachment to one source queue: a channel that consumes, and
// a publisher for the copies.
type session struct {
	broker       *Broker
	conn         *conn
	ch           *amqp.Channel
	sub          broker.Subscription
	source       kind
	names        names
	parked       string
	capabilities broker.Capabilities
	acks         *acker
	copies       *publisher
	hold         *replayer // nil where there is none
	settling     tally

	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	over   chan struct{} // closed when nothing of the session runs any more

	rpc sync.Mutex // one request at a time on ch

	mu      sync.Mutex
	err     error
	closing bool
	tag     string // of the running consumer, or empty
	tags    int
	feeds   []<-chan amqp.Delivery // the oldest first
	paused  bool
	changed chan struct{} // closed when feeds or paused change
}

func newSession(ctx context.Context, b *Broker, c *conn, sub broker.Subscription, l layout, holdLimited bool) (*session, error) {
	ch, err := openChannel(ctx, c)
	if err != nil {
		return nil, err
	}
	source, holds := l.source.kind, l.source.holds(sub.Queue)
	s := &session{
		broker: b, conn: c, ch: ch, sub: sub, source: source, names: l.names, parked: l.parked,
		over: make(chan struct{}), paused: true, changed: make(chan struct{}),
		capabilities: broker.Capabilities{
			Broker: c.server.String(), Delay: true, Hold: holds, Replies: sub.Replies, Stamp: true, MaxHeaders: hopLimit,
			Counts: source == kindQuorum, FreeRelease: source == kindQuorum && c.server.nacksFree(),
		},
	}
	s.ctx, s.cancel = context.WithCancel(b.ctx)
	s.acks = newAcker(ch, boundAck(c, ackTimeout), s.ackFailed)
	s.copies = newPublisher(s.ctx, b.publish, copying{}, s.notify, s.end)
	if holds {
		s.hold = newReplayer(s, holdLimited)
	}
	go s.acks.run()
	go s.copies.run()
	go s.watch(ch.NotifyClose(make(chan *amqp.Error, 1)), ch.NotifyCancel(make(chan string, 4)))
	return s, nil
}

// Capabilities implements [broker.Session].
func (s *session) Capabilities() broker.Capabilities { return s.capabilities }

// Done implements [broker.Session].
func (s *session) Done() <-chan struct{} { return s.ctx.Done() }

// Err implements [broker.Session].
func (s *session) Err() error {
	if s.ctx.Err() == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *session) notify(n broker.Notice) {
	if s.sub.Notify != nil {
		s.sub.Notify(n)
	}
}

// end ends the session for the reason err. The first reason stays.
func (s *session) end(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = s.conn.classify(err)
	}
	s.mu.Unlock()
	s.cancel()
}

// watch waits for the session's end, whoever brings it about, and takes it
// down.
func (s *session) watch(closes <-chan *amqp.Error, cancels <-chan string) {
	for alive := true; alive; {
		select {
		case said := <-closes:
			s.end(s.closedError(said))
		case tag, ok := <-cancels:
			if !ok {
				cancels = nil
				continue
			}
			s.cancelled(tag)
		case <-s.ctx.Done():
			alive = false
		}
	}
	s.takeDown()
	if errors.Is(s.Err(), broker.ErrDetached) {
		s.broker.kinds.forget(s.sub.Queue)
	}
	s.broker.remove(s)
	close(s.over)
}

// closedError says why the consuming channel was closed. A 406 is not a
// mismatch here, but a delivery that was held too long or settled twice.
func (s *session) closedError(said *amqp.Error) error {
	if lost := s.conn.lost(); lost != nil {
		return lost
	}
	switch {
	case said == nil:
		return classified(broker.ErrClosed, "the channel was closed")
	case !channelError(said.Code):
		return lostError(s.conn.at, said) // the channel heard of it before the connection's watch did
	}
	return classified(broker.ErrDetached, "the broker closed the channel that consumes queue %q: %s", s.sub.Queue, said.Reason)
}

// cancelled is the broker's own cancel.
func (s *session) cancelled(tag string) {
	s.mu.Lock()
	ours := tag == s.tag
	s.mu.Unlock()
	if ours {
		s.end(classified(broker.ErrDetached, "the broker cancelled the consumer of queue %q: "+
			"the queue was deleted or moved, or a delivery was held for too long", s.sub.Queue))
	}
}

// takeDown gives back what is not settled, in the way that costs least, and
// waits for the session's goroutines.
func (s *session) takeDown() {
	if s.hold != nil {
		s.hold.stop()
	}
	s.copies.stop()
	s.acks.stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), s.conn.timeout)
	defer cancel()
	s.giveBack(ctx)
}

// giveBack returns everything unsettled to the queue and closes the channel.
// Where a nack is free it spares the messages a count that a closed channel
// costs even those that nobody looked at; elsewhere a nack would move them to
// the tail. The consumer goes first, or it would get them again at once.
func (s *session) giveBack(ctx context.Context) {
	if s.conn.lost() != nil || s.ch.IsClosed() {
		return
	}
	stopped := s.conn.server.nacksFree() && s.stopConsumer(ctx) == nil
	s.rpc.Lock()
	defer s.rpc.Unlock()
	if s.source != kindClassic && s.acks.burst() {
		_ = takeIn(ctx, s.conn, s.ch, s.sub.Queue) // what is not taken in is delivered again
	}
	if stopped {
		_ = s.ch.Nack(0, true, true) // the close does the same if this fails
	}
	_ = closeChannel(ctx, s.conn, s.ch) // it fails only with the connection
}

// ackFailed ends the session, unless the channel is closed: then watch is
// about to hear why, and knows better.
func (s *session) ackFailed(err error) {
	if !s.ch.IsClosed() {
		s.end(err)
	}
}

// boundAck drops the connection if one batch of acknowledgements cannot be
// written in time.
func boundAck(c *conn, within time.Duration) func() func() bool {
	return func() func() bool {
		return time.AfterFunc(within, func() {
			c.drop(classified(broker.ErrUnreachable, "an acknowledgement could not be written to %s within %v", c.at, within))
		}).Stop
	}
}

// Consume implements [broker.Session].
func (s *session) Consume(ctx context.Context, prefetch int) error {
	if prefetch < 1 || prefetch > maxPrefetch {
		return classified(broker.ErrConfig, "prefetch must be 1 to %d, not %d", maxPrefetch, prefetch)
	}
	s.rpc.Lock()
	defer s.rpc.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	s.acks.prefetch(prefetch)
	tag := s.nextTag()
	feed, err := call(ctx, s.conn, func() (<-chan amqp.Delivery, error) {
		// Per consumer: the next one on this channel may have another.
		if err := s.ch.Qos(prefetch, 0, false); err != nil {
			return nil, err
		}
		return s.ch.Consume(s.sub.Queue, tag, false, false, false, false, nil)
	})
	if err != nil {
		return s.broken(refusedRequest(fmt.Sprintf("queue %q", s.sub.Queue), []grant{{"read", "queue", s.sub.Queue}}, err))
	}
	s.mu.Lock()
	s.feeds = append(s.feeds, feed)
	s.paused = false
	s.change()
	s.mu.Unlock()
	if s.hold != nil {
		s.hold.start()
	}
	return nil
}

const maxPrefetch = 65535

// ready says whether a consumer may be started.
func (s *session) ready() error {
	if err := s.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tag != "" {
		return errors.New("rabbitmq: the session consumes already: pause it first")
	}
	return nil
}

// nextTag names a consumer. It is known before the broker may cancel it.
func (s *session) nextTag() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tags++
	name := cutText(orDefault(s.sub.Name, s.broker.conf.Name), maxName)
	s.tag = fmt.Sprintf("%s %d", name, s.tags)
	return s.tag
}

// broken ends the session after a request on its channel went wrong: the
// channel is closed by then, or in a state that nobody knows.
func (s *session) broken(err error) error {
	s.end(err)
	return err
}

// change tells those who wait in Receive. It is called with mu held.
func (s *session) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Pause implements [broker.Session].
func (s *session) Pause(ctx context.Context) error {
	if err := s.Err(); err != nil {
		return err
	}
	if err := s.stopConsumer(ctx); err != nil {
		return s.broken(err)
	}
	return nil
}

func (s *session) stopConsumer(ctx context.Context) error {
	s.rpc.Lock()
	defer s.rpc.Unlock()
	s.mu.Lock()
	tag := s.tag
	s.mu.Unlock()
	if tag == "" {
		return nil
	}
	if err := do(ctx, s.conn, func() error { return s.ch.Cancel(tag, false) }); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tag, s.paused = "", true
	s.change()
	return nil
}

// Receive implements [broker.Session]. It reads from the client's own channel
// without a goroutine in between.
func (s *session) Receive(ctx context.Context) (broker.Delivery, error) {
	for {
		if err := s.Err(); err != nil {
			return nil, err
		}
		feed, paused, changed := s.feed()
		if feed == nil && paused {
			return nil, broker.ErrPaused
		}
		select {
		case m, ok := <-feed:
			if ok {
				return s.deliver(&m), nil
			}
			s.drained(feed)
		case <-changed:
		case <-s.ctx.Done():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// TryReceive implements [broker.Session].
func (s *session) TryReceive() (broker.Delivery, bool) {
	if s.ctx.Err() != nil {
		return nil, false
	}
	feed, _, _ := s.feed()
	select {
	case m, ok := <-feed:
		if ok {
			return s.deliver(&m), true
		}
		s.drained(feed)
	default:
	}
	return nil, false
}

func (s *session) feed() (feed <-chan amqp.Delivery, paused bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.feeds) > 0 {
		feed = s.feeds[0]
	}
	return feed, s.paused, s.changed
}

// drained removes a feed that gave all it had. The last one stays away too:
// its end is a pause, or the session's end that is about to be told.
func (s *session) drained(feed <-chan amqp.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.feeds) > 0 && s.feeds[0] == feed {
		s.feeds = s.feeds[1:]
	}
}

func (s *session) deliver(m *amqp.Delivery) *delivery {
	d := &delivery{session: s, tag: m.DeliveryTag}
	d.read(m, s.sub.Queue)
	d.readCapture(s.sub.Queue)
	return d
}

// Probe implements [broker.Session]. AMQP tells how many consumers a queue
// has and not which, so that a lost consumer shows when it was the only one.
func (s *session) Probe(ctx context.Context) error {
	if err := s.Err(); err != nil {
		return err
	}
	q, err := inspect(ctx, s.conn, s.sub.Queue)
	if err != nil {
		if errors.Is(err, broker.ErrMissing) {
			return classified(broker.ErrDetached, "queue %q is gone", s.sub.Queue)
		}
		return err
	}
	s.mu.Lock()
	consuming := s.tag != "" && !s.paused
	s.mu.Unlock()
	if consuming && q.Consumers == 0 {
		return classified(broker.ErrDetached, "queue %q has no consumer although we consume it", s.sub.Queue)
	}
	return nil
}

// Close implements [broker.Session].
func (s *session) Close(ctx context.Context) error {
	s.mu.Lock()
	again := s.closing
	s.closing = true
	s.mu.Unlock()
	if again {
		return nil
	}
	if s.Err() == nil {
		_ = s.stopConsumer(ctx) // what cannot be cancelled is closed below
		if s.hold != nil {
			s.hold.stop()
		}
	}
	cut := s.finish(ctx)
	s.end(broker.ErrClosed)
	<-s.over
	return cut
}

// finish waits for the settlements that were handed over.
func (s *session) finish(ctx context.Context) error {
	select {
	case <-s.settling.wait():
		return nil
	case <-s.ctx.Done():
		return nil // each was told so
	case <-ctx.Done():
		return fmt.Errorf("rabbitmq: %d settlements were cut off: the broker redelivers them: %w", s.settling.n.Load(), ctx.Err())
	}
}
