package outbox

import "sync"

// gate is shut while the broker accepts no publishes.
type gate struct {
	mu     sync.Mutex
	closed bool
	told   chan struct{} // closed while the gate is shut
}

func newGate() *gate { return &gate{told: make(chan struct{})} }

// set reports whether that changed anything.
func (g *gate) set(shut bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == shut {
		return false
	}
	g.closed = shut
	if shut {
		close(g.told)
	} else {
		g.told = make(chan struct{})
	}
	return true
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// shut returns a channel that is closed when the gate is shut next, or is.
func (g *gate) shut() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.told
}
