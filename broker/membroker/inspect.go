package membroker

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdfast-mq/holdfast/broker"
)

// Messages returns what is in a queue, oldest first, those included that are
// out with a consumer and not settled. It is nil for a queue that is not there.
func (b *Broker) Messages(queue string) []broker.Stored {
	b.server.lock()
	defer b.server.unlock()
	q := b.server.queues[queue]
	if q == nil {
		return nil
	}
	entries := slices.AppendSeq(slices.Clone(q.ready), maps.Keys(q.out))
	slices.SortFunc(entries, func(a, b *entry) int { return cmp.Compare(a.seq, b.seq) })
	stored := make([]broker.Stored, len(entries))
	for i, e := range entries {
		stored[i] = *e.stored(queue, i)
	}
	return stored
}

// Queues returns the names of all queues, sorted.
func (b *Broker) Queues() []string {
	b.server.lock()
	defer b.server.unlock()
	return slices.Sorted(maps.Keys(b.server.queues))
}

// stored is the message as an operator sees it.
func (e *entry) stored(queue string, position int) *broker.Stored {
	m, c, err := e.view("")
	if c == nil {
		m.Origin.Queue = queue
	}
	return &broker.Stored{Message: m, Queue: queue, Position: position, Capture: c, CaptureErr: err}
}
