package telemetry

import "sync"

// other stands for all names beyond the bound.
const other = "other"

const (
	maxQueues       = 500
	maxDestinations = 100
	maxConsumers    = 200
	maxReasons      = 50
)

// names bounds how many names of one kind are told apart in a process. Those
// that came first keep their own, so that a series never changes its meaning.
type names struct {
	mu   sync.RWMutex
	seen map[string]bool
	most int
}

func newNames(most int) *names { return &names{seen: map[string]bool{}, most: most} }

// bound returns name, or other once there are too many.
func (n *names) bound(name string) string {
	n.mu.RLock()
	known, full := n.seen[name], len(n.seen) >= n.most
	n.mu.RUnlock()
	switch {
	case known:
		return name
	case full:
		return other
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.seen) >= n.most && !n.seen[name] {
		return other
	}
	n.seen[name] = true
	return name
}
