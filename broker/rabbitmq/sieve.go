package rabbitmq

import (
	"context"
	"errors"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// siftQuiet is how long a sift waits for a message before it looks whether
	// there are any, siftStuck how long it lets the broker give it none.
	siftQuiet = 200 * time.Millisecond
	siftStuck = 10 * time.Second

	// returnWait is how long a sift waits at most for what it gave back to be
	// counted again, looking every returnPoll.
	returnWait = 2 * time.Second
	returnPoll = 5 * time.Millisecond
)

// sieve takes messages from the head of a queue, in order, and keeps, removes
// or copies and removes each. Nothing is given back before the end: it would
// come round again.
type sieve struct {
	conn    *conn
	queue   string
	limit   int // 0: as many as wait
	window  int
	kind    kind
	confirm time.Duration // what copies may take once the sift has ended
	await   bool          // return only when what was kept is counted again

	pick func(context.Context, *broker.Stored) (broker.Action, error)
	told func(broker.Sifted)

	// carry publishes what the action asks for. An error says that nothing was
	// published; otherwise done is called once with the outcome.
	carry func(ctx context.Context, l *letter, a broker.Action, done func(error)) error
}

// sifting is a sieve at work. One goroutine runs it; copies end in others.
type sifting struct {
	sieve
	ch     *amqp.Channel
	closes chan *amqp.Error
	in     *intake
	cancel context.CancelCauseFunc
	under  tally

	depth int // when it began

	mu  sync.Mutex
	sum broker.Sifted
}

func (v sieve) run(ctx context.Context) (broker.Sifted, error) {
	s := &sifting{sieve: v}
	if err := s.measure(ctx); err != nil || s.limit == 0 {
		return s.sum, err
	}
	ch, err := openChannel(ctx, v.conn)
	if err != nil {
		return s.sum, err
	}
	s.ch, s.closes = ch, ch.NotifyClose(make(chan *amqp.Error, 1))
	ctx, s.cancel = context.WithCancelCause(ctx)
	defer s.cancel(nil)
	acks := newAcker(ch, boundAck(v.conn, ackTimeout), s.cancel)
	acks.prefetch(s.window)
	go acks.run()
	s.in = &intake{conn: v.conn, ch: ch, queue: v.queue, window: s.window, acks: acks, left: s.limit}
	err = s.all(ctx)
	return s.finish(ctx, err)
}

// measure sets the limit to what waits now, if none is given: what arrives
// later is not swept along.
func (s *sifting) measure(ctx context.Context) error {
	q, err := inspect(ctx, s.conn, s.queue)
	s.depth = q.Messages
	if err == nil && s.limit == 0 {
		s.limit = q.Messages
	}
	return err
}

// all asks about one message after the other, up to the limit.
func (s *sifting) all(ctx context.Context) error {
	for position := range s.limit {
		m, err := s.next(ctx)
		if err != nil || m == nil {
			return err
		}
		more, err := s.one(ctx, position, m)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// next returns the next message, or nil when there is none left.
func (s *sifting) next(ctx context.Context) (*amqp.Delivery, error) {
	idle := time.NewTimer(siftQuiet)
	defer idle.Stop()
	patience := patience{since: time.Now()}
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := s.in.flow(ctx); err != nil {
			return nil, err
		}
		if m := s.in.next(); m != nil {
			return m, nil
		}
		if s.in.lost() {
			return nil, s.lost(ctx)
		}
		select {
		case m, ok := <-s.in.feed:
			s.in.heard(m, ok)
		case <-idle.C:
			idle.Reset(siftQuiet)
			q, err := inspect(ctx, s.conn, s.queue)
			if err != nil {
				return nil, err
			}
			if empty, err := patience.saw(q); empty || err != nil {
				return nil, err
			}
		case <-ctx.Done():
		}
	}
}

// patience judges what is seen of a queue that gives us nothing.
type patience struct {
	since time.Time
	empty int
}

// saw returns true when the queue is empty: seen twice, since the first look
// may overtake a delivery.
func (p *patience) saw(q amqp.Queue) (bool, error) {
	if q.Messages == 0 {
		p.empty++
		return p.empty == 2, nil
	}
	p.empty = 0
	if time.Since(p.since) > siftStuck {
		return false, classified(broker.ErrDetached,
			"%d messages wait in queue %q and the broker gives us none: another consumer may be the only active one", q.Messages, q.Name)
	}
	return false, nil
}

// nothingLeft says that all that was taken is gone from the queue.
func (s *sifting) nothingLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum.Seen == s.sum.Copied+s.sum.Replied+s.sum.Dropped && len(s.in.buffer) == 0
}

// lost says why the flow of messages ended of itself.
func (s *sifting) lost(ctx context.Context) error {
	if !s.ch.IsClosed() {
		return classified(broker.ErrDetached, "queue %q was deleted or moved during the sift", s.queue)
	}
	select {
	case said := <-s.closes:
		if lost := s.conn.lost(); lost != nil {
			return lost
		}
		return classified(broker.ErrDetached, "the broker closed the channel during the sift of queue %q: %v", s.queue, said)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// one asks about m and does what it is told. more is false when that was the
// last.
func (s *sifting) one(ctx context.Context, position int, m *amqp.Delivery) (more bool, err error) {
	l := &letter{}
	l.read(m, s.queue)
	l.readCapture("")
	action, err := s.pick(ctx, l.stored(s.queue, position))
	s.count(func(n *broker.Sifted) { n.Seen++ }, false)
	if err != nil || action.Verb == broker.VerbStop {
		return false, err
	}
	switch action.Verb {
	case broker.VerbKeep:
		s.in.keep(m)
		s.count(func(n *broker.Sifted) { n.Kept++ }, true)
	case broker.VerbDrop:
		s.remove(m.DeliveryTag, func(n *broker.Sifted) { n.Dropped++ })
	case broker.VerbCopy:
		return true, s.copy(ctx, m.DeliveryTag, l, action, func(n *broker.Sifted) { n.Copied++ })
	case broker.VerbReply:
		return true, s.copy(ctx, m.DeliveryTag, l, action, func(n *broker.Sifted) { n.Replied++ })
	default:
		return false, classified(broker.ErrUnsupported, "no such verb: %d", action.Verb)
	}
	return true, nil
}

func (s *sifting) copy(ctx context.Context, tag uint64, l *letter, a broker.Action, counted func(*broker.Sifted)) error {
	s.under.add()
	err := s.carry(ctx, l, a, func(err error) {
		defer s.under.done()
		if err != nil {
			s.cancel(err)
			return
		}
		s.remove(tag, counted)
	})
	if err != nil {
		s.under.done()
	}
	return err
}

// remove acknowledges the original.
func (s *sifting) remove(tag uint64, counted func(*broker.Sifted)) {
	s.under.add()
	s.in.remove(mark{tag: tag, told: removal{s}, done: func(err error) {
		if err == nil {
			s.count(counted, true)
		}
	}})
}

type removal struct{ *sifting }

func (r removal) settled(err error, done func(error)) {
	done(err)
	r.under.done()
}

// count changes the sum, and tells it when a message is through.
func (s *sifting) count(change func(*broker.Sifted), tell bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.sum)
	if tell && s.told != nil {
		s.told(s.sum)
	}
}

// finish waits for the copies that are on their way and gives the rest back.
// A sift that was cancelled ends in the same way, within bounds of its own.
func (s *sifting) finish(ctx context.Context, err error) (broker.Sifted, error) {
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.confirm+s.conn.timeout)
	defer cancel()
	if cause := context.Cause(ctx); cause != nil && (err == nil || errors.Is(err, ctx.Err())) {
		err = cause
	}
	if stopped := s.stop(after); err == nil {
		err = stopped
	}
	select {
	case <-s.under.wait():
	case <-after.Done():
		err = errors.Join(err, classified(broker.ErrUnknown, "copies were not confirmed within %v", s.confirm))
	case <-s.conn.dead:
		err = errors.Join(err, s.conn.lost())
	}
	s.in.abandon()
	s.in.acks.stop()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = errors.Join(cause, err) // a copy failed while we waited
	}
	err = errors.Join(err, s.giveBack(after))
	if err == nil && s.await {
		s.awaitReturn(after)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum, err
}

// awaitReturn waits until what was given back is counted again, which a quorum
// queue does a moment later: whoever looks right after a look is to see the
// same. Somebody else may take messages meanwhile, so it does not wait long.
func (s *sifting) awaitReturn(ctx context.Context) {
	s.mu.Lock()
	left := s.depth - s.sum.Copied - s.sum.Replied - s.sum.Dropped
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, returnWait)
	defer cancel()
	tick := time.NewTicker(returnPoll)
	defer tick.Stop()
	for {
		if q, err := inspect(ctx, s.conn, s.queue); err != nil || q.Messages >= left {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// stop ends the consumer, so that nothing more arrives and acknowledgements
// go on.
func (s *sifting) stop(ctx context.Context) error {
	if s.ch.IsClosed() {
		return nil
	}
	return s.in.drain(ctx)
}

// takeRest takes what must be given back together with what is kept, after the
// queue took in what was removed.
func (s *sifting) takeRest(ctx context.Context) error {
	left := !s.nothingLeft()
	if s.in.acks.burst() {
		took, err := s.in.more(ctx, 1, 1)
		if err != nil {
			return err
		}
		left = left || took > 0
	}
	if !left {
		return nil
	}
	return s.in.complete(ctx, s.depth)
}

// giveBack returns what is still taken, in order. See [session.giveBack].
func (s *sifting) giveBack(ctx context.Context) error {
	if s.ch.IsClosed() {
		return nil
	}
	if s.kind != kindClassic {
		if err := s.takeRest(ctx); err != nil {
			return err
		}
	}
	if s.conn.server.nacksFree() {
		if err := s.in.giveBack(ctx); err != nil {
			return err
		}
	}
	return closeChannel(ctx, s.conn, s.ch)
}
