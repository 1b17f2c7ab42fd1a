package rabbitmq

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// holdLook is how often the replayer looks at least: another process may
	// hold for a shorter time than this one.
	holdLook = 30 * time.Second

	// holdWindow is how many messages are on their way back at once.
	holdWindow = 32

	// clockSkew is how far the clocks of two hosts may be apart.
	clockSkew = time.Minute
)

// replayer returns held messages to their queue when their time is up.
//
// It never keeps one while it waits: the broker takes back what is held for
// longer than its consumer timeout, 30 minutes by default, and an operator
// who ends a hold early must find them all. So it looks at the first message,
// gives it back, and sleeps. The order of the queue is the order in which
// they become due, which is why a sieve gives back in order.
type replayer struct {
	session *session
	queue   string
	hold    time.Duration

	// charged: each look is counted towards a limit, so that none is spent
	// before the first message is due.
	charged bool

	ctx    context.Context
	cancel context.CancelFunc
	once   sync.Once
	wg     sync.WaitGroup
}

func newReplayer(s *session, charged bool) *replayer {
	r := &replayer{session: s, queue: holdName(s.sub.Queue), hold: s.sub.Hold, charged: charged}
	r.ctx, r.cancel = context.WithCancel(s.ctx)
	return r
}

// start starts it, once.
func (r *replayer) start() {
	r.once.Do(func() { r.wg.Go(r.run) })
}

// stop ends it, and returns when what was on its way has arrived or is given
// back.
func (r *replayer) stop() {
	r.cancel()
	r.once.Do(func() {}) // not started any more
	r.wg.Wait()
}

func (r *replayer) run() {
	for {
		wait, err := r.pass()
		if r.ctx.Err() != nil {
			return
		}
		if err != nil {
			r.session.end(holdError(r.queue, err))
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-r.ctx.Done():
			timer.Stop()
			return
		}
	}
}

// holdError keeps a missing hold queue from being taken for a missing source:
// the next session declares it again.
func holdError(queue string, err error) error {
	if errors.Is(err, broker.ErrMissing) {
		return classified(broker.ErrDetached, "the hold queue %q was deleted under the session", queue)
	}
	return err
}

// pass returns what is due, up to the first that is not, and says how long to
// wait for that one.
func (r *replayer) pass() (time.Duration, error) {
	s := r.session
	wait := min(max(r.hold, time.Millisecond), holdLook)
	_, err := sieve{
		conn: s.conn, queue: r.queue, window: holdWindow, kind: kindQuorum, confirm: s.broker.conf.ConfirmTimeout,
		carry: r.carry,
		pick: func(_ context.Context, m *broker.Stored) (broker.Action, error) {
			left := r.left(m.Capture, time.Now())
			if left <= 0 {
				return broker.Action{Verb: broker.VerbCopy}, nil
			}
			if r.charged {
				wait = left
			}
			wait = min(wait, left)
			return broker.Action{Verb: broker.VerbStop}, nil
		},
	}.run(r.ctx)
	return wait, err
}

// left is how long a message with this capture still waits; without one it
// goes back at once. So does one that failed in the future: at the head of the
// queue it would keep all others waiting for as long.
func (r *replayer) left(c *broker.Capture, now time.Time) time.Duration {
	if c == nil || c.FailedAt.IsZero() || c.FailedAt.Sub(now) > clockSkew {
		return 0
	}
	return c.FailedAt.Add(r.hold).Sub(now)
}

// carry returns the copy as it is: what was captured when it failed stays
// true.
func (r *replayer) carry(_ context.Context, l *letter, _ broker.Action, done func(error)) error {
	s := r.session
	if l.capture == nil {
		s.notify(broker.Notice{Kind: broker.NoticeWarning, Text: noCapture(r.queue, l.captureErr)})
	}
	table := pick(l.msg.Headers, kept)
	m := l.publishing(table, s.conn.at.user)
	squeeze(table, restLimit-seqRoom)
	id := ""
	if l.capture != nil {
		id = l.capture.ID
	}
	s.copies.publish(&job{exchange: s.names.back(), key: s.sub.Queue, msg: m, done: func(err error) {
		if err == nil {
			s.notify(broker.Notice{Kind: broker.NoticeReturned, Text: id})
		}
		done(err)
	}})
	return nil
}

func noCapture(queue string, err error) string {
	text := "a message in hold queue " + queue + " carries no capture and goes back at once"
	if err != nil {
		text += ": " + textOf(err)
	}
	return text
}
