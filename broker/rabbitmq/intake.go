package rabbitmq

import (
	"context"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// maxWindow and windowRoom bound what a sift has in memory: messages, and
	// bytes by the average of what it has seen.
	maxWindow  = 8192
	windowRoom = 64 << 20

	// arriving is how long the next message of a consumer may take that the
	// broker is sending to.
	arriving = 200 * time.Millisecond

	// giveBackWait is how long the queue may take to show what came back.
	giveBackWait = time.Second
)

// intake takes messages from the head of a queue, in order, never more than
// its limit and never more than a window ahead, and gives none back.
//
// A consumer without bounds would pour the whole queue into memory. One with a
// prefetch is filled up by messages that are kept, and takes one more for each
// that is acknowledged. So there is a new consumer, with a window of its own,
// when the old one is half full of kept messages. A consumer is cancelled only
// when the broker has sent it all that it may: what is on its way to a
// cancelled one goes back into the queue, at another place. To come to that
// point, acknowledgements are held back, as they are when they would draw a
// message beyond the limit.
type intake struct {
	conn  *conn
	ch    *amqp.Channel
	queue string
	acks  *acker

	window int // of the next consumer
	left   int // still to be taken
	feed   <-chan amqp.Delivery
	tag    string // of the running consumer, or empty
	tags   int
	kept   int // in the window of the running consumer
	buffer []amqp.Delivery
	last   amqp.Delivery // without its content
	taken  int
	bytes  int
	ends   []end // of the consumers, in order

	mu        sync.Mutex
	first     uint64 // the running consumer's first tag
	open      int    // what the broker may still send it
	allowance int    // how many acknowledgements may draw one more
	held      []mark
}

// end is where the messages of one consumer end that stay taken.
type end struct {
	consumer string
	tag      uint64
	messages int
}

// keep counts in a message that stays taken.
func (in *intake) keep(m *amqp.Delivery) {
	if m.ConsumerTag == in.tag {
		in.kept++
	}
	in.stay(m.ConsumerTag, m.DeliveryTag, 1)
}

func (in *intake) stay(consumer string, tag uint64, messages int) {
	if n := len(in.ends); n == 0 || in.ends[n-1].consumer != consumer {
		in.ends = append(in.ends, end{consumer: consumer})
	}
	last := &in.ends[len(in.ends)-1]
	last.tag, last.messages = tag, last.messages+messages
}

// remove acknowledges a message. It may be called from any goroutine.
func (in *intake) remove(m mark) {
	in.mu.Lock()
	draws := m.tag >= in.first && in.tagged()
	if draws && in.allowance == 0 {
		in.held = append(in.held, m)
		in.mu.Unlock()
		return
	}
	if draws {
		in.allowance--
		in.open++
	}
	in.mu.Unlock()
	in.acks.settle(m)
}

// tagged reports whether a consumer runs. It is called with mu held.
func (in *intake) tagged() bool { return in.first > 0 }

// hold keeps acknowledgements from drawing more.
func (in *intake) hold() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.allowance = 0
}

// full reports whether the broker has sent the consumer all that it may.
func (in *intake) full() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.open == 0
}

// flow makes sure that a consumer runs while there is something to take, and
// reads what has arrived. Its requests are not broken off by ctx: nobody
// knows the state of a channel then, and it is still needed.
func (in *intake) flow(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	in.read()
	if in.tag != "" {
		if in.kept > in.window/2 {
			in.hold()
		}
		if in.full() {
			if err := in.stop(ctx); err != nil {
				return err
			}
		}
	}
	if in.feed == nil && in.left > 0 {
		return in.start(ctx)
	}
	return nil
}

// read moves what has arrived out of the client.
func (in *intake) read() {
	for in.feed != nil {
		select {
		case m, ok := <-in.feed:
			in.heard(m, ok)
		default:
			return
		}
	}
}

// heard is told what came out of the feed.
func (in *intake) heard(m amqp.Delivery, ok bool) {
	if !ok {
		in.feed = nil
		return
	}
	in.buffer = append(in.buffer, m)
	in.count(m)
}

func (in *intake) count(m amqp.Delivery) {
	in.left--
	in.taken++
	in.bytes += len(m.Body)
	in.last = amqp.Delivery{ConsumerTag: m.ConsumerTag, DeliveryTag: m.DeliveryTag, Redelivered: m.Redelivered}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.open--
}

// next takes a message out of the buffer.
func (in *intake) next() *amqp.Delivery {
	if len(in.buffer) == 0 {
		return nil
	}
	m := in.buffer[0]
	in.buffer[0] = amqp.Delivery{}
	in.buffer = in.buffer[1:]
	return &m
}

func (in *intake) start(ctx context.Context) error {
	if in.kept > in.window/2 {
		in.window = in.grown()
	}
	in.tags++
	// Padded, since RabbitMQ sorts consumers by their tags when it gives back.
	tag := fmt.Sprintf("holdfast sift %06d", in.tags)
	prefetch := min(in.window, in.left)
	in.mu.Lock()
	in.first, in.open, in.allowance = in.last.DeliveryTag+1, prefetch, in.left-prefetch
	in.mu.Unlock()
	feed, err := call(ctx, in.conn, func() (<-chan amqp.Delivery, error) {
		if err := in.ch.Qos(prefetch, 0, false); err != nil {
			return nil, err
		}
		return in.ch.Consume(in.queue, tag, false, false, false, false, nil)
	})
	if err != nil {
		return refusedRequest(fmt.Sprintf("queue %q", in.queue), []grant{{"read", "queue", in.queue}}, err)
	}
	in.feed, in.tag, in.kept = feed, tag, 0
	return nil
}

// grown is the next window where messages are kept. With few consumers
// RabbitMQ 3 gives back in order: above 32 it goes through them in any.
func (in *intake) grown() int {
	average := max(1, in.bytes/max(1, in.taken))
	return max(in.window, min(2*in.window, maxWindow, windowRoom/average))
}

// stop ends the consumer. What it had sent is still read, and what is
// acknowledged from now on draws nothing.
func (in *intake) stop(ctx context.Context) error {
	if in.tag != "" {
		tag := in.tag
		if err := do(ctx, in.conn, func() error { return in.ch.Cancel(tag, false) }); err != nil {
			return err
		}
		in.tag = ""
	}
	in.mu.Lock()
	held := in.held
	in.held, in.first = nil, 0
	in.mu.Unlock()
	for _, m := range held {
		in.acks.settle(m)
	}
	return nil
}

// drain takes what the broker is about to send, and ends the consumer.
func (in *intake) drain(ctx context.Context) error {
	in.hold()
	for in.feed != nil && in.tag != "" && !in.full() && in.await(ctx) {
	}
	if err := in.stop(ctx); err != nil {
		return err
	}
	for in.feed != nil {
		m, ok := <-in.feed
		in.heard(m, ok)
	}
	return nil
}

// await takes one more message, and reports whether one came.
func (in *intake) await(ctx context.Context) bool {
	late := time.NewTimer(arriving)
	defer late.Stop()
	select {
	case m, ok := <-in.feed:
		in.heard(m, ok)
		return ok
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// complete takes what else was given back before, by us or by others, up to a
// number of messages that may wait. A quorum queue keeps that apart, in front
// of what nobody ever took, and puts what is given back at its end: some of it
// alone would change places with the rest. All of it together keeps its order.
func (in *intake) complete(ctx context.Context, most int) error {
	for window := 8; in.last.Redelivered && in.taken < most; window *= 2 {
		took, err := in.more(ctx, most-in.taken, window)
		if err != nil || took == 0 {
			return err
		}
	}
	return nil
}

// more takes up to n more and keeps them, and says how many it took. It starts
// a consumer and ends it: see [takeIn].
func (in *intake) more(ctx context.Context, n, window int) (int, error) {
	before := in.taken
	in.left, in.window, in.kept = n, min(window, maxWindow), 0
	if err := in.start(ctx); err != nil {
		return 0, err
	}
	if err := in.drain(ctx); err != nil {
		return 0, err
	}
	in.buffer = nil
	took := in.taken - before
	if took > 0 {
		in.stay(in.last.ConsumerTag, in.last.DeliveryTag, took)
	}
	return took, nil
}

// lost says that the flow has ended although nobody stopped it.
func (in *intake) lost() bool { return in.feed == nil && in.tag != "" && len(in.buffer) == 0 }

// giveBack returns what is still taken, one consumer's messages after the
// other's, each when the queue has taken the one before: what the broker has
// in its pipeline it may pass on in another order.
func (in *intake) giveBack(ctx context.Context) error {
	if n := len(in.ends); n > 1 {
		for _, e := range in.ends[:n-1] {
			if err := in.giveBackOne(ctx, e); err != nil {
				return err
			}
		}
	}
	return in.conn.explain(in.ch.Nack(0, true, true))
}

func (in *intake) giveBackOne(ctx context.Context, e end) error {
	before, err := inspect(ctx, in.conn, in.queue)
	if err != nil {
		return err
	}
	if err := in.ch.Nack(e.tag, true, true); err != nil {
		return in.conn.explain(err)
	}
	// Somebody else may be taking messages meanwhile; then there is no order
	// to keep, and no reason to wait for long.
	for deadline := time.Now().Add(giveBackWait); time.Now().Before(deadline); {
		now, err := inspect(ctx, in.conn, in.queue)
		if err != nil || now.Messages >= before.Messages+e.messages {
			return err
		}
	}
	return nil
}

// abandon tells those who wait that nothing more will be acknowledged.
func (in *intake) abandon() {
	in.mu.Lock()
	held := in.held
	in.held = nil
	in.mu.Unlock()
	for _, m := range held {
		m.told.settled(broker.ErrClosed, m.done)
	}
}
