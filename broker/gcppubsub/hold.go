package gcppubsub

import (
	"context"
	"strconv"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// lookEvery is how often it is looked for waiting messages of sessions
	// that are gone. A session knows when its own are due.
	lookEvery = 10 * time.Second

	// perLook is how many messages are taken in hand at once.
	perLook = 500

	// nap is for how long those that are not due are hidden when there are
	// more than perLook, so that the next look gets others.
	nap = 60

	// breath is the pause after a look that failed.
	breath = time.Second
)

// replayer returns what waits in a place once it is due. Nothing is kept in
// hand while it waits: a lease that is extended for hours is no wait, and an
// operator must be able to take the messages. It looks, gives back what is not
// due, and sleeps.
type replayer struct {
	session *session
	place   place
	tells   bool // that a held message is back
	news    chan time.Time
	once    sync.Once // for failed
}

func newReplayer(s *session, p place, tells bool) *replayer {
	return &replayer{session: s, place: p, tells: tells, news: make(chan time.Time, callsAtOnce)}
}

// expect tells the replayers of a copy that waits.
func (s *session) expect(t task) {
	for _, r := range s.replayers {
		if r.place.topic() == t.topic {
			select {
			case r.news <- t.due:
			default: // it has enough to wake up for, and looks for itself
			}
		}
	}
}

// run begins with the first Consume: a session that delivers nothing returns
// nothing either.
func (r *replayer) run() {
	s := r.session
	if s.await(s.over, func() bool { return s.consumed }) != nil {
		return
	}
	next := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(time.Until(next))
		select {
		case due := <-r.news:
			if due.Before(next) {
				next = due
			}
		case <-timer.C:
			next = r.look()
		case <-s.done:
			return
		}
	}
}

// look returns what is due, and says when to look again.
func (r *replayer) look() time.Time {
	s := r.session
	ctx, cancel := s.conn.bounded(s.over)
	defer cancel()
	list, err := s.conn.pull(ctx, r.place.subscription(), perLook, true)
	if err != nil {
		r.failed(err)
		return time.Now().Add(breath)
	}
	next := time.Now().Add(lookEvery)
	var due []*pubsubpb.ReceivedMessage
	var early []string
	for _, m := range list {
		at := dueAt(m.GetMessage())
		if time.Until(at) <= 0 {
			due = append(due, m)
			continue
		}
		early = append(early, m.GetAckId())
		if at.Before(next) {
			next = at
		}
	}
	full := len(list) == perLook
	s.conn.lease(s.over, r.place.subscription(), early, napIf(full))
	if len(due) > 0 && !r.returns(due) {
		return time.Now().Add(breath)
	}
	if full || len(due) > 0 {
		return time.Now()
	}
	return next
}

// failed tells once of what a person must mend. The end of the connection is
// seen elsewhere, and a place that is missing is found by a probe.
func (r *replayer) failed(err error) {
	err = classify("look into "+r.place.subscription(), "pubsub.subscriptions.consume", err)
	if broker.Permanent(err) {
		r.once.Do(func() {
			r.session.notify(broker.NoticeWarning, "what waits there does not come back: "+err.Error())
		})
	}
}

func napIf(full bool) int32 {
	if full {
		return nap
	}
	return 0
}

// dueAt is when a copy is to go back. What says nothing of it goes at once.
func dueAt(m *pubsubpb.PubsubMessage) time.Time {
	ms, err := strconv.ParseInt(m.GetAttributes()[attrDue], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// returns publishes copies to where the session takes them from, and removes
// the originals once they are stored. What could not be returned stays.
func (r *replayer) returns(list []*pubsubpb.ReceivedMessage) (all bool) {
	s := r.session
	back := s.names().place(s.source.source, backSuffix).topic()
	results := make(chan string, len(list))
	for _, m := range list {
		s.work(func() {
			copied := copyOf(m.GetMessage(), carried(m.GetMessage().GetAttributes(), keeping))
			if s.conn.publish(s.over, back, copied) != nil {
				results <- ""
				return
			}
			if c, _ := capture(copied.GetAttributes(), s.source.queue); c != nil && r.tells {
				s.notify(broker.NoticeReturned, c.ID)
			}
			results <- m.GetAckId()
		})
	}
	var stored []string
	for range list {
		if id := <-results; id != "" {
			stored = append(stored, id)
		}
	}
	s.conn.acknowledge(r.place.subscription(), stored) // what is not taken comes twice
	if len(stored) == len(list) {
		return true
	}
	r.giveBack(list, stored)
	return false
}

func (r *replayer) giveBack(list []*pubsubpb.ReceivedMessage, stored []string) {
	gone := map[string]bool{}
	for _, id := range stored {
		gone[id] = true
	}
	var kept []string
	for _, m := range list {
		if !gone[m.GetAckId()] {
			kept = append(kept, m.GetAckId())
		}
	}
	r.session.conn.lease(context.Background(), r.place.subscription(), kept, 0)
}
