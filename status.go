package holdfast

import (
	"errors"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// status is the part of Health that is not counts.
type status struct {
	mu       sync.Mutex
	health   Health
	attached bool
}

func (s *status) update(f func(h *Health)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.health)
}

func (s *status) set(state State, err error) {
	s.update(func(h *Health) {
		if h.State != state {
			h.State, h.Since = state, time.Now()
		}
		h.TurnAt = time.Now()
		h.Err, h.Credentials = "", false
		if err != nil {
			h.Err, _ = describe(err)
			h.Credentials = errors.Is(err, broker.ErrCredentials)
		}
		if state == StateAttached {
			s.attached, h.ProvenAt = true, time.Now()
		} else {
			h.Blocked, h.OneAtATime = "", false
		}
	})
}

func (s *status) attachedOnce() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attached
}

func (s *status) read() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health
}
