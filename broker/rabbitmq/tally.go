package rabbitmq

import (
	"sync"
	"sync/atomic"
)

// tally counts what is under way, and says when nothing is.
type tally struct {
	n atomic.Int64

	mu   sync.Mutex
	idle chan struct{}
}

func (t *tally) add() { t.n.Add(1) }

func (t *tally) done() {
	if t.n.Add(-1) == 0 {
		t.signal()
	}
}

func (t *tally) signal() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.idle != nil {
		close(t.idle)
		t.idle = nil
	}
}

// wait is closed when nothing is under way.
func (t *tally) wait() <-chan struct{} {
	t.mu.Lock()
	if t.idle == nil {
		t.idle = make(chan struct{})
	}
	idle := t.idle
	t.mu.Unlock()
	if t.n.Load() == 0 {
		t.signal()
	}
	return idle
}
