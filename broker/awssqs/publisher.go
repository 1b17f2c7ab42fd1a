package awssqs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// copied is a copy on its way.
type copied struct {
	delivery *delivery
	out      *outgoing
	stored   func() // told before the original is deleted; may be nil
	done     func(error)
}

func (c copied) size() int { return c.out.size() }

// copying is what a copy is for. It begins the id by which a FIFO queue knows a
// copy that is sent again.
type copying string

const (
	copyPark   copying = "park"
	copyHold   copying = "hold"
	copyBack   copying = "back"
	copyReturn copying = "return"
	copySift   copying = "sift"
)

// copy sends a copy with the capture to a queue of ours, or back to the
// source, and deletes the original once it is stored. The id that the copy of
// this delivery has for deduplication is its own: by its content, a FIFO queue
// would swallow it.
func (s *session) copy(d *delivery, c *broker.Capture, to string, as copying, done func(error)) error {
	work := copied{delivery: d, done: done}
	dedup, alone := string(as)+"-"+d.letter.id, ""
	switch {
	case as == copyPark && s.source.fifo:
		alone = dedup // of its group, one who looks would see the first ten
	case as == copyHold:
		at := time.Now().Add(s.sub.Hold)
		work.stored = func() { s.hold.plan.add(at) }
	}
	o, whole, err := d.letter.captured(c, alone)
	switch {
	case err != nil:
		return err
	case !whole && as != copyPark:
		return fmt.Errorf("awssqs: %w: the message leaves no room for its capture", broker.ErrRefused)
	case !whole:
		s.warn(fmt.Sprintf("message %.100s is parked without its capture (%s): its body leaves no room for one", d.letter.firstID(), c.Reason))
	}
	o.dedup = dedup
	work.out = o
	s.copies[to].add(work)
	return nil
}

// send sends copies, and deletes the originals of those that were stored.
func (s *session) send(url string, batch []copied) {
	list := make([]*outgoing, len(batch))
	for i, c := range batch {
		list[i] = c.out
	}
	// Not the session's own context: what was handed over is carried out.
	for i, err := range s.client.store(context.Background(), url, list) {
		c := batch[i]
		switch {
		case err == nil:
			if c.stored != nil {
				c.stored()
			}
			s.forgetAt(c.delivery, c.done)
		case errors.Is(err, broker.ErrUnknown):
			s.end(err)
			s.finish(c.delivery, c.done, err)
		default:
			s.reopen(c.delivery)
			c.done(err)
		}
	}
}
