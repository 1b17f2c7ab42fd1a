package jetstream_test

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// worker is a consumer at work, with what it told.
type worker struct {
	*place
	mu     sync.Mutex
	events []holdfast.Event
}

// run runs a consumer until the test ends, and checks then that it stops in
// order with balanced books.
func (p *place) run(b broker.Broker, cfg holdfast.ConsumerConfig) *worker {
	p.Helper()
	w := &worker{place: p}
	cfg.Observer = holdfast.Observers(w, cfg.Observer)
	c, err := holdfast.NewConsumer(b, cfg)
	p.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	p.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				p.Errorf("run: %v", err)
			}
		case <-time.After(patience):
			p.Error("the consumer does not stop")
		}
		if books := c.Books(); !books.Balanced() {
			p.Errorf("books %+v", books)
		}
	})
	return w
}

// Observe implements [holdfast.Observer].
func (w *worker) Observe(e holdfast.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

func (w *worker) of(kind holdfast.EventKind) (list []holdfast.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// wantEvents waits for n events of a kind.
func (w *worker) wantEvents(kind holdfast.EventKind, n int) {
	w.Helper()
	w.eventually("enough events of kind "+string(kind), func() bool { return len(w.of(kind)) >= n })
}

// tally counts by text.
type tally struct {
	mu  sync.Mutex
	all map[string]int
}

func (t *tally) add(text string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string]int{}
	}
	t.all[text]++
	return t.all[text]
}

func (t *tally) of(text string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[text]
}

func (t *tally) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}
