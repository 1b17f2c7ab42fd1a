package awssqs

import "sync"

// flights is how many batches of one kind are under way at most. One alone
// would wait a round trip for each ten; many would never fill.
const flights = 4

// batcher sends single pieces of work in batches: the first go at once, and the
// next batch is what gathers meanwhile.
type batcher[T any] struct {
	send  func([]T)
	weigh func(T) int // nil: weighs nothing

	mu      sync.Mutex
	waiting []T
	flying  int
}

func (b *batcher[T]) add(item T) {
	b.mu.Lock()
	b.waiting = append(b.waiting, item)
	batch := b.next()
	b.mu.Unlock()
	if batch != nil {
		go b.fly(batch)
	}
}

// next takes the batch that may go now, or nil. The lock is held.
func (b *batcher[T]) next() []T {
	if b.flying == flights || len(b.waiting) == 0 {
		return nil
	}
	n, weight := 0, 0
	for n < min(len(b.waiting), maxBatch) {
		if b.weigh != nil {
			weight += b.weigh(b.waiting[n])
		}
		if n > 0 && weight > maxMessage {
			break
		}
		n++
	}
	batch := append([]T(nil), b.waiting[:n]...)
	b.waiting = b.waiting[n:]
	b.flying++
	return batch
}

func (b *batcher[T]) fly(batch []T) {
	for batch != nil {
		b.send(batch)
		b.mu.Lock()
		b.flying--
		batch = b.next()
		b.mu.Unlock()
	}
}
