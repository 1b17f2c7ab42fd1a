package membroker

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/holdfast-mq/holdfast/broker"
)

// server is what peers have in common: the queues and what goes wrong with
// them. One lock guards all of it, sessions and deliveries included.
type server struct {
	caps broker.Capabilities

	mu       sync.Mutex
	calls    []func() // to make once the lock is free
	queues   map[string]*queue
	bindings map[route][]string
	sessions []*session // the live ones, oldest first
	siftings []*sifting
	outlets  []*outlet // the live ones
	seq      uint64
	faults   faults
}

type route struct{ exchange, key string }

func newServer(caps broker.Capabilities) *server {
	s := &server{caps: caps, queues: map[string]*queue{}, bindings: map[route][]string{}}
	s.declare(Unrouted)
	return s
}

func (s *server) lock() { s.mu.Lock() }

// unlock frees the lock and then makes the calls that were put off: a callback
// of the caller's may call back, so none is made under the lock.
func (s *server) unlock() {
	calls := s.calls
	s.calls = nil
	s.mu.Unlock()
	for _, call := range calls {
		call()
	}
}

// later puts a call off until the lock is free.
func (s *server) later(call func()) { s.calls = append(s.calls, call) }

func (s *server) declare(name string) *queue {
	if q := s.queues[name]; q != nil {
		return q
	}
	q := &queue{name: name, out: map[*entry]struct{}{}}
	s.queues[name] = q
	return q
}

// push stores e as the last of q and hands it on if somebody can take it.
func (s *server) push(q *queue, e *entry) {
	s.seq++
	e.seq = s.seq
	q.ready = append(q.ready, e)
	if e.back != "" {
		s.startWait(q, e)
	}
	q.dispatch()
}

// hasExchange reports whether anything is bound to a named exchange. The one
// without a name is always there.
func (s *server) hasExchange(name string) bool {
	for r := range s.bindings {
		if r.exchange == name {
			return true
		}
	}
	return name == ""
}

// targets are the queues that a publish reaches; the exchange without a name
// leads to the queue that the key names, as in AMQP.
func (s *server) targets(t broker.Target) []*queue {
	names := s.bindings[route{t.Exchange, t.Key}]
	switch {
	case t.Queue != "":
		names = []string{t.Queue}
	case t.Exchange == "":
		names = []string{t.Key}
	}
	var queues []*queue
	for _, name := range names {
		if q := s.queues[name]; q != nil {
			queues = append(queues, q)
		}
	}
	return queues
}

// publish stores c wherever t leads.
func (s *server) publish(c *entry, t broker.Target) error {
	queues := s.targets(t)
	if len(queues) == 0 {
		return fmt.Errorf("membroker: publish to %q: %w", cmp.Or(t.Queue, t.Exchange, t.Key), broker.ErrUnrouted)
	}
	for _, q := range queues {
		s.push(q, c.clone())
	}
	return nil
}

// store publishes a copy of a message that is in a queue, as the faults let
// it. After broker.ErrUnknown the copy is stored all the same: the harder of
// the two cases, since it makes a duplicate.
func (s *server) store(c *entry, t broker.Target) error {
	if s.faults.refuse > 0 {
		s.faults.refuse--
		return fmt.Errorf("membroker: told to refuse copies: %w", broker.ErrRefused)
	}
	err := s.publish(c, t)
	if err == nil && s.faults.lose > 0 {
		s.faults.lose--
		return fmt.Errorf("membroker: the confirm was lost: %w", broker.ErrUnknown)
	}
	return err
}
