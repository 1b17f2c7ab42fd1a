package rabbitmq

import (
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// ackBatch is how many settled deliveries are acknowledged at the latest
	// together; ackQuiet is how long the first of them waits for company.
	// Measured, this doubles the throughput at a prefetch of 100.
	ackBatch = 32
	ackQuiet = time.Millisecond

	// ackBurst is how many acknowledgements a quorum queue takes at once, and
	// ackSettle how long it is given for more. The broker keeps the others back
	// in the channel, and forgets them when the channel is closed: what was
	// acknowledged is then delivered again.
	ackBurst  = 16
	ackSettle = 250 * time.Millisecond

	// ackTimeout bounds the writing of one batch. Its copies are stored by
	// then, so it is not raced against a shutdown.
	ackTimeout = 5 * time.Second
)

// tagged is the part of a channel that settles deliveries.
type tagged interface {
	Ack(tag uint64, multiple bool) error
	Nack(tag uint64, multiple, requeue bool) error
}

// acker tells the broker which deliveries of one channel are settled, many at
// once where nothing unsettled lies between.
//
// It keeps the tags that are still open below the highest settled one, rather
// than a ring of all tags since the oldest open one: there are never more of
// them than the prefetch, however long one slow delivery runs.
type acker struct {
	ch    tagged
	bound func() (stop func() bool) // limits the time of one batch
	fail  func(error)               // told once, when an acknowledgement could not be written

	wake chan struct{}
	quit chan struct{}
	gone chan struct{} // closed when run has returned

	// These belong to run.
	failed error     // nothing can be written any more
	frames int       // written in the current burst
	wrote  time.Time // the last of them

	mu      sync.Mutex
	batch   int
	top     uint64   // the highest tag settled so far
	open    []uint64 // tags below top that are not settled, ascending
	pending []mark
	spare   []mark
	closed  error // nothing more is taken over
}

// mark is a settled delivery that the broker was not told of yet.
type mark struct {
	tag     uint64
	requeue bool
	told    settled
	done    func(error)
}

// settled is what hears of the outcome before the caller does.
type settled interface {
	settled(err error, done func(error))
}

func newAcker(ch tagged, bound func() func() bool, fail func(error)) *acker {
	return &acker{
		ch: ch, bound: bound, fail: fail, batch: 1,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan struct{}),
	}
}

// prefetch sets the batch so that waiting for it never starves the consumer.
func (a *acker) prefetch(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.batch = max(1, min(ackBatch, n/3))
}

// settle takes over a delivery that is settled. With requeue it goes back to
// the broker, otherwise it is acknowledged.
func (a *acker) settle(m mark) {
	a.mu.Lock()
	if closed := a.closed; closed != nil {
		a.mu.Unlock()
		m.told.settled(closed, m.done)
		return
	}
	a.shut(m.tag)
	a.pending = append(a.pending, m)
	n := len(a.pending)
	signal := n == 1 || n == a.batch
	a.mu.Unlock()
	if signal {
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
}

// shut takes tag out of the open ones. Tags that were skipped become open:
// the broker has delivered them, whether they were received yet or not.
func (a *acker) shut(tag uint64) {
	if tag <= a.top {
		if i, found := slices.BinarySearch(a.open, tag); found {
			a.open = slices.Delete(a.open, i, i+1)
		}
		return
	}
	for t := a.top + 1; t < tag; t++ {
		a.open = append(a.open, t)
	}
	a.top = tag
}

// run writes acknowledgements until stop. What is pending then is still
// written.
func (a *acker) run() {
	defer close(a.gone)
	quiet := time.NewTimer(ackQuiet)
	quiet.Stop()
	for {
		select {
		case <-a.wake:
			a.gather(quiet)
			a.flush()
		case <-a.quit:
			a.flush()
			return
		}
	}
}

// gather waits until a batch is full, or nothing more came for a moment.
func (a *acker) gather(quiet *time.Timer) {
	quiet.Reset(ackQuiet)
	defer quiet.Stop()
	for !a.full() {
		select {
		case <-a.wake:
		case <-quiet.C:
			return
		case <-a.quit:
			return
		}
	}
}

func (a *acker) full() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pending) >= a.batch
}

// flush writes what is pending. Below the lowest open tag everything is
// settled, so that one acknowledgement does for all of it; what goes back to
// the broker goes first, or that one would take it along.
func (a *acker) flush() {
	a.mu.Lock()
	marks := a.pending
	a.pending, a.spare = a.spare[:0], nil
	low := a.top + 1
	if len(a.open) > 0 {
		low = a.open[0]
	}
	a.mu.Unlock()
	if len(marks) == 0 {
		return
	}
	err := a.failed
	if err == nil {
		err = a.write(marks, low)
	}
	if err != nil && a.failed == nil {
		a.failed = classified(broker.ErrClosed, "an acknowledgement could not be sent: %s", plainText(err))
		err = a.failed
		a.refuse(err)
		a.fail(err)
	}
	for i := range marks {
		marks[i].told.settled(err, marks[i].done)
		marks[i] = mark{}
	}
	a.mu.Lock()
	a.spare = marks
	a.mu.Unlock()
}

func (a *acker) write(marks []mark, low uint64) error {
	stop := a.bound()
	defer stop()
	if time.Since(a.wrote) > ackSettle {
		a.frames = 0
	}
	defer func() { a.wrote = time.Now() }()
	var last uint64
	prefix := 0
	for _, m := range marks {
		if m.requeue {
			a.frames++
			if err := a.ch.Nack(m.tag, false, true); err != nil {
				return err
			}
		} else if m.tag < low {
			prefix, last = prefix+1, max(last, m.tag)
		}
	}
	if prefix > 0 {
		a.frames++
		if err := a.ch.Ack(last, prefix > 1); err != nil {
			return err
		}
	}
	for _, m := range marks {
		if !m.requeue && m.tag > low {
			a.frames++
			if err := a.ch.Ack(m.tag, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuse makes every further settle fail.
func (a *acker) refuse(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed == nil {
		a.closed = why
	}
}

// stop takes nothing over any more, and returns when what was taken over is
// written or has failed, and the channel may be closed.
func (a *acker) stop() {
	a.refuse(broker.ErrClosed)
	close(a.quit)
	<-a.gone
	if rest := ackSettle - time.Since(a.wrote); a.frames > ackBurst && a.failed == nil && rest > 0 {
		time.Sleep(rest) // there is no signal, nor a request that would wait for it
	}
}
