package awssqs

import (
	"sync"
	"testing"
)

func TestABatcherSendsEachOnceAndNoBatchTooLarge(t *testing.T) {
	t.Parallel()
	const n = 500
	var mu sync.Mutex
	seen := map[int]int{}
	var all sync.WaitGroup
	all.Add(n)
	b := &batcher[int]{
		weigh: func(i int) int { return i % 3 * maxMessage / 2 },
		send: func(batch []int) {
			mu.Lock()
			defer mu.Unlock()
			weight := 0
			for _, i := range batch {
				weight += i % 3 * maxMessage / 2
				seen[i]++
				all.Done()
			}
			if len(batch) > maxBatch || len(batch) > 1 && weight > maxMessage {
				t.Errorf("a batch of %d weighs %d", len(batch), weight)
			}
		},
	}
	for i := range n {
		go b.add(i)
	}
	all.Wait()
	mu.Lock()
	defer mu.Unlock()
	for i := range n {
		if seen[i] != 1 {
			t.Errorf("%d was sent %d times", i, seen[i])
		}
	}
}
