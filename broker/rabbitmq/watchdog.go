package rabbitmq

import (
	"sync"
	"time"
)

// watchdog calls late when something that is awaited does not come in time.
// Its clock stands still while it is paused.
type watchdog struct {
	limit time.Duration
	timer *time.Timer

	mu      sync.Mutex
	waiting bool
	paused  bool
}

func newWatchdog(limit time.Duration, late func()) *watchdog {
	w := &watchdog{limit: limit, timer: time.AfterFunc(limit, late)}
	w.timer.Stop()
	return w
}

// await starts the clock, unless it runs already.
func (w *watchdog) await() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.waiting {
		w.waiting = true
		w.set()
	}
}

// progressed starts the clock anew, or stops it if nothing is awaited any
// more.
func (w *watchdog) progressed(waiting bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = waiting
	w.set()
}

func (w *watchdog) pause(paused bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = paused
	w.set()
}

func (w *watchdog) isPaused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.paused
}

func (w *watchdog) set() {
	if w.waiting && !w.paused {
		w.timer.Reset(w.limit)
		return
	}
	w.timer.Stop()
}
