package rabbitmq

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// window is how many publishes may wait for their confirm, windowBytes how
	// much they may weigh together; one more may always start. Some 3.8 MB
	// fill the buffers of a blocked connection and make a write hang.
	window      = 512
	windowBytes = 512 << 10
)

// job is one message to publish.
type job struct {
	exchange, key string
	msg           amqp.Publishing // its headers are the job's own
	size          int             // of body and headers; 0 where it was not counted yet

	// done is told the outcome, once: nil for stored (confirmed and routed),
	// or an error of class ErrUnrouted, ErrRefused, ErrUnknown or ErrClosed.
	// It must not block.
	done func(error)
}

// weigh counts once: a settlement that is refused is made anew.
func (j *job) weigh() int {
	if j.size == 0 {
		j.size = len(j.msg.Body) + tableSize(j.msg.Headers)
	}
	return j.size
}

// publisher publishes in a pipeline: confirmed, mandatory, persistent. One
// goroutine owns the channel, so that a return is always read before the
// confirm it came with is judged; separate readers miss a quarter of them.
type publisher struct {
	link   *link
	ending ending
	notify func(broker.Notice)
	failed func(error) // told once, when the publisher ends of itself
	once   sync.Once

	ctx    context.Context
	cancel context.CancelCauseFunc // the cause is nil where the end was asked for
	wake   chan struct{}
	gone   chan struct{} // closed when run has returned
	watch  *watchdog
	conn   atomic.Pointer[conn]

	mu     sync.Mutex
	queue  []*job
	closed bool

	// The rest belongs to run.
	hear     *listener
	out      *publishChannel
	todo     []*job // taken over from queue; those before sent are gone
	sent     int
	flight   []flown // oldest first
	bytes    int
	seq      int64
	returned map[int64]string
	cutOff   int // what had no outcome yet when it ended; to be read after gone
}

// flown is a publish whose confirm has not come.
type flown struct {
	job  *job
	seq  int64
	size int
	conf confirmation
}

func newPublisher(ctx context.Context, l *link, e ending, notify func(broker.Notice), fail func(error)) *publisher {
	p := &publisher{
		link: l, ending: e, notify: notify, failed: fail,
		wake: make(chan struct{}, 1), gone: make(chan struct{}), returned: map[int64]string{},
	}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.watch = newWatchdog(l.conf.ConfirmTimeout, func() { e.late(p) })
	p.hear = &listener{told: p.blocked}
	return p
}

// publish takes j over. It never blocks: what may be waiting is bounded by
// those who publish, a session by its prefetch.
func (p *publisher) publish(j *job) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.queue = append(p.queue, j)
	}
	p.mu.Unlock()
	if closed {
		j.done(broker.ErrClosed)
		return
	}
	p.poke()
}

func (p *publisher) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// finish takes no more over, and ends run when all that was has an outcome.
func (p *publisher) finish() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.poke()
}

// finished reports whether there is nothing left to do.
func (p *publisher) finished() bool {
	if len(p.flight) > 0 || p.next() != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// stop ends run. What is not confirmed by then is unknown; what was not
// published is told so. A write that hangs, since the broker blocks the
// connection, is cut off with the connection: what stops must end.
func (p *publisher) stop() {
	p.cancel(nil)
	stuck := time.AfterFunc(p.link.conf.CallTimeout, func() {
		if c := p.conn.Load(); c != nil {
			c.drop(classified(broker.ErrUnknown, "a copy could not be written to %s before the session's end", c.at))
		}
	})
	defer stuck.Stop()
	<-p.gone
}

// fail tells the owner, before anyone who waits for an outcome: what they are
// told is then only a consequence.
func (p *publisher) fail(err error) { p.once.Do(func() { p.failed(err) }) }

// blocked is told by the connection.
func (p *publisher) blocked(blocked bool, reason string) {
	if blocked == p.watch.isPaused() {
		return
	}
	p.watch.pause(blocked)
	if blocked {
		p.notify(broker.Notice{Kind: broker.NoticeBlocked, Text: reason})
		return
	}
	p.notify(broker.Notice{Kind: broker.NoticeUnblocked})
	p.poke()
}

func (p *publisher) run() {
	defer close(p.gone)
	err := p.loop()
	if errors.Is(err, context.Canceled) {
		err = p.stopped()
	}
	p.mu.Lock()
	p.closed = true
	waiting := p.queue
	p.queue = nil
	p.mu.Unlock()
	if err != nil {
		p.fail(err)
	}
	for i, outcome := range p.ending.outcomes(p.flight, err) {
		p.flight[i].job.done(outcome)
	}
	unsent := slices.Concat(p.todo[p.sent:], waiting)
	for _, j := range unsent {
		j.done(broker.ErrClosed)
	}
	p.cutOff = len(p.flight) + len(unsent)
	p.release()
	if c := p.conn.Load(); c != nil {
		c.unlisten(p.hear)
	}
}

// stopped is why the context has ended; nil where that was asked for.
func (p *publisher) stopped() error {
	if why := context.Cause(p.ctx); !errors.Is(why, context.Canceled) {
		return why
	}
	return nil
}

// loop returns nil when it was stopped or is finished, and otherwise what went
// wrong.
func (p *publisher) loop() error {
	for {
		if err := p.send(); err != nil {
			return err
		}
		if p.finished() {
			return nil
		}
		var confirmed <-chan struct{}
		if len(p.flight) > 0 {
			confirmed = p.flight[0].conf.Done()
		}
		select {
		case <-p.wake:
		case <-confirmed:
			if err := p.confirm(); err != nil {
				return err
			}
		case <-p.lostWhileBlocked():
			p.blocked(false, "")
		case <-p.ctx.Done():
			return p.stopped()
		}
	}
}

// lostWhileBlocked is closed when the connection that blocks us is gone:
// nobody says then that the block is over.
func (p *publisher) lostWhileBlocked() <-chan struct{} {
	if c := p.conn.Load(); c != nil && p.watch.isPaused() {
		return c.dead
	}
	return nil
}

// send publishes what waits, as far as the window and the broker allow. Only
// the first of them may need an answer of the broker: that comes before the
// cork.
func (p *publisher) send() error {
	if !p.room() || p.next() == nil {
		return nil
	}
	if ready, err := p.ready(); !ready {
		return err
	}
	c := p.out.conn
	c.sock.cork()
	err := p.burst()
	if cut := c.sock.uncork(); cut != nil && err == nil {
		c.drop(lostError(c.at, &amqp.Error{Reason: cut.Error()}))
		err = p.why()
	}
	return err
}

// why is the reason that the channel is closed.
func (p *publisher) why() error { return p.out.why(p.ending.explain) }

// burst publishes one after the other, and waits for nothing but the socket.
func (p *publisher) burst() error {
	for p.room() && !p.watch.isPaused() {
		j := p.next()
		if j == nil || !p.fits(j) {
			return nil
		}
		p.pop()
		if err := p.sendOne(j); err != nil {
			return err
		}
	}
	return nil
}

// room reports whether one more may be published. Confirms that are there go
// first: they make room.
func (p *publisher) room() bool {
	return len(p.flight) < window && p.bytes < windowBytes && !p.confirmed()
}

// fits keeps what fills the window by itself until nothing else is under way:
// should the broker find it too large, nothing else is in doubt.
func (p *publisher) fits(j *job) bool {
	return len(p.flight) == 0 || j.weigh() <= windowBytes
}

func (p *publisher) confirmed() bool {
	if len(p.flight) == 0 {
		return false
	}
	select {
	case <-p.flight[0].conf.Done():
		return true
	default:
		return false
	}
}

// next is the oldest job that was not sent yet, or nil. What waits is taken
// over all at once: those who publish are not to be held up for each.
func (p *publisher) next() *job {
	if p.sent == len(p.todo) {
		p.mu.Lock()
		p.todo, p.queue = p.queue, p.todo[:0]
		p.mu.Unlock()
		p.sent = 0
	}
	if len(p.todo) == 0 {
		return nil
	}
	return p.todo[p.sent]
}

func (p *publisher) pop() {
	p.todo[p.sent] = nil
	p.sent++
}

// ready makes sure that there is a channel, and reports whether the broker
// lets us publish. A channel that was lost while nothing was in flight is
// made again: nothing is in doubt then. While the connection is blocked none
// is opened, since that would hang.
func (p *publisher) ready() (bool, error) {
	if p.out != nil && p.out.line.IsClosed() && len(p.flight) == 0 {
		if err := p.out.refused(p.ending.explain); err != nil {
			return false, err
		}
		p.release()
	}
	if p.out != nil {
		return !p.watch.isPaused(), nil
	}
	c, err := p.link.get(p.ctx)
	if err != nil {
		return false, err
	}
	p.attach(c)
	if p.watch.isPaused() {
		return false, nil
	}
	p.out, err = openPublishChannel(p.ctx, c)
	return err == nil, err
}

// attach listens to the connection that is used from now on.
func (p *publisher) attach(c *conn) {
	old := p.conn.Swap(c)
	if old == c {
		return
	}
	if old != nil {
		old.unlisten(p.hear)
	}
	c.listen(p.hear)
}

func (p *publisher) sendOne(j *job) error {
	p.seq++
	j.msg.Headers[headerSeq] = p.seq
	p.watch.await()
	conf, err := p.out.line.publish(j.exchange, j.key, j.msg)
	if err == nil {
		f := flown{job: j, seq: p.seq, size: j.weigh(), conf: conf}
		p.flight = append(p.flight, f)
		p.bytes += f.size
		return nil
	}
	why := p.why()
	p.fail(why)
	if errors.Is(err, amqp.ErrClosed) {
		j.done(broker.ErrClosed) // it was closed before: no whole message was sent
	} else {
		j.done(p.ending.outcomes([]flown{{job: j}}, err)[0])
	}
	return why
}

// confirm judges what was confirmed, from the oldest on.
func (p *publisher) confirm() error {
	n := 0
	for ; n < len(p.flight); n++ {
		f := &p.flight[n]
		select {
		case <-f.conf.Done():
		default:
			p.shift(n)
			return nil
		}
		if !f.conf.Acked() && p.out.line.IsClosed() {
			p.shift(n)
			return p.lost()
		}
		// Its return, if there is one, came before its confirm.
		p.drain()
		f.job.done(p.outcome(f))
	}
	p.shift(n)
	return nil
}

// lost is told that the channel is gone under what is in flight. A message that
// the broker finds too large was alone there, so that publishing goes on
// without it.
func (p *publisher) lost() error {
	why := p.why()
	if len(p.flight) > 1 || !errors.Is(why, broker.ErrConfig) {
		return why
	}
	p.flight[0].job.done(why)
	p.shift(1)
	p.release()
	return nil
}

func (p *publisher) outcome(f *flown) error {
	why, back := p.returned[f.seq]
	switch {
	case back:
		delete(p.returned, f.seq)
		return classified(broker.ErrUnrouted, "no queue took the copy for exchange %q with key %q: %s",
			f.job.exchange, f.job.key, why)
	case f.conf.Acked():
		return nil
	}
	return classified(broker.ErrRefused, "the broker refused the copy for exchange %q with key %q: "+
		"a queue there is full or unavailable", f.job.exchange, f.job.key)
}

// drain reads the returns that are there, by our own number.
func (p *publisher) drain() {
	for {
		select {
		case r, ok := <-p.out.returns:
			if !ok {
				return
			}
			if seq, ours := r.Headers[headerSeq].(int64); ours {
				p.returned[seq] = r.ReplyText
			}
		default:
			return
		}
	}
}

// shift forgets the n oldest, and starts the clock anew for the rest.
func (p *publisher) shift(n int) {
	for i := range n {
		p.bytes -= p.flight[i].size
	}
	p.flight = slices.Delete(p.flight, 0, n)
	p.watch.progressed(len(p.flight) > 0)
}

// release gives the channel back.
func (p *publisher) release() {
	p.watch.progressed(false)
	if p.out != nil {
		p.link.retire(p.out.conn, p.out.line)
		p.out = nil
	}
}
