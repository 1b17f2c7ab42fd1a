package membroker

import (
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// startWait lets e return to its source when its wait is over.
func (s *server) startWait(place *queue, e *entry) {
	time.AfterFunc(e.wait, func() {
		s.lock()
		defer s.unlock()
		s.waitOver(place, e)
	})
}

func (s *server) waitOver(place *queue, e *entry) {
	if s.queues[place.name] != place {
		return // deleted, and the message with it
	}
	if _, out := place.out[e]; out {
		e.over = true // a sift has it; it returns when it is given back
		return
	}
	if place.remove(e) {
		s.giveReturn(place, e)
	}
}

// giveReturn stores what waited in its source, or keeps it as a stray.
func (s *server) giveReturn(place *queue, e *entry) {
	c := e.clone()
	c.exchange, c.key, c.back = "holdfast.return", e.back, ""
	source := s.queues[e.back]
	if source == nil {
		s.push(s.declare(Unrouted), c)
		return
	}
	if place.name == HoldQueue(e.back) {
		s.noticeReturn(source, c)
	}
	s.push(source, c)
}

// noticeReturn tells one session of the source, as the one that returned it
// would.
func (s *server) noticeReturn(source *queue, c *entry) {
	for _, session := range s.sessionsOf(func(o *session) bool { return o.queue == source }) {
		id, _ := c.message.Headers[broker.HeaderID].(string)
		session.notify(broker.NoticeReturned, id)
		return
	}
}
