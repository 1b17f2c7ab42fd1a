package membroker

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// entry is a message in a queue.
type entry struct {
	seq         uint64
	message     broker.Message // as it was published
	exchange    string
	key         string
	redelivered bool
	crashes     int // deliveries that ended without a settlement

	back string        // the source to return to, on a rung or in a hold
	wait time.Duration // until then
	over bool          // the wait ended while a sift had it
}

// newEntry copies what a publisher may go on using.
func newEntry(m *broker.Message, t broker.Target) *entry {
	e := &entry{message: *m, exchange: t.Exchange, key: t.Key}
	if t.Queue != "" {
		e.exchange, e.key = "", cmp.Or(t.Key, t.Queue)
	}
	return e.clone()
}

// clone is the same message as another entry, with no history.
func (e *entry) clone() *entry {
	c := &entry{message: e.message, exchange: e.exchange, key: e.key, back: e.back, wait: e.wait}
	c.message.Body = bytes.Clone(e.message.Body)
	c.message.Headers = maps.Clone(e.message.Headers)
	return c
}

// queue is a queue: its waiting messages in order, those that are out with
// somebody, and the sessions that consume it, in turn.
type queue struct {
	name      string
	transient bool
	ready     []*entry
	out       map[*entry]struct{}
	consumers []*session
	turn      int
}

// take hands out the first message.
func (q *queue) take() *entry {
	e := q.ready[0]
	q.ready = q.ready[1:]
	q.out[e] = struct{}{}
	return e
}

// putBack gives a message its place again.
func (q *queue) putBack(e *entry) {
	delete(q.out, e)
	i, _ := slices.BinarySearchFunc(q.ready, e.seq, func(e *entry, seq uint64) int { return cmp.Compare(e.seq, seq) })
	q.ready = slices.Insert(q.ready, i, e)
}

// remove forgets a message, wherever it is, and says whether it was there.
func (q *queue) remove(e *entry) bool {
	if _, out := q.out[e]; out {
		delete(q.out, e)
		return true
	}
	i := slices.Index(q.ready, e)
	if i >= 0 {
		q.ready = slices.Delete(q.ready, i, i+1)
	}
	return i >= 0
}

// dispatch hands out messages while a consumer has room.
func (q *queue) dispatch() {
	for len(q.ready) > 0 {
		s := q.nextConsumer()
		if s == nil {
			return
		}
		s.send(q.take())
	}
}

func (q *queue) nextConsumer() *session {
	for range q.consumers {
		q.turn = (q.turn + 1) % len(q.consumers)
		if s := q.consumers[q.turn]; s.sent < s.prefetch {
			return s
		}
	}
	return nil
}

func (q *queue) dropConsumer(s *session) {
	q.consumers = slices.DeleteFunc(q.consumers, func(c *session) bool { return c == s })
}
