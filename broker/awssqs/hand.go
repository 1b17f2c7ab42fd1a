package awssqs

import (
	"context"
	"slices"
	"sync"
	"time"
)

// hand is what a sift has received and neither removed nor given back. It
// extends their visibility, since a pick may take its time.
type hand struct {
	client *client
	url    string
	lease  time.Duration
	stop   chan struct{}
	ended  chan struct{}

	mu    sync.Mutex
	list  []*letter // in the order of their receive
	until map[*letter]time.Time
}

func newHand(c *client, url string, lease time.Duration) *hand {
	h := &hand{
		client: c, url: url, lease: lease, stop: make(chan struct{}), ended: make(chan struct{}), until: map[*letter]time.Time{},
	}
	go h.keep()
	return h
}

func (h *hand) keep() {
	defer close(h.ended)
	tick := time.NewTicker(h.lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.hide(context.Background(), h.lease)
		case <-h.stop:
			return
		}
	}
}

func (h *hand) take(l *letter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, l)
	h.until[l] = time.Now().Add(sure(h.lease))
}

// has reports whether a message is still hidden from all others.
func (h *hand) has(l *letter) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Before(h.until[l])
}

func (h *hand) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.list)
}

func (h *hand) remove(ctx context.Context, l *letter) error {
	if err := h.client.remove(ctx, h.url, []string{l.receipt})[0]; err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = slices.DeleteFunc(h.list, func(o *letter) bool { return o == l })
	delete(h.until, l)
	return nil
}

// giveBack shows everything again, in the order of its receive.
func (h *hand) giveBack() {
	close(h.stop)
	<-h.ended
	ctx, cancel := context.WithTimeout(context.Background(), giveBackTime)
	defer cancel()
	h.hide(ctx, 0)
}

// hide sets the visibility of all. Whatever fails ends by itself.
func (h *hand) hide(ctx context.Context, lease time.Duration) {
	h.mu.Lock()
	list := slices.Clone(h.list)
	h.mu.Unlock()
	for batch := range slices.Chunk(list, maxBatch) {
		hidings := make([]hiding, len(batch))
		for i, l := range batch {
			hidings[i] = hiding{l.receipt, seconds(lease)}
		}
		until := time.Now().Add(sure(lease))
		results := h.client.hide(ctx, h.url, hidings)
		h.mu.Lock()
		for i, l := range batch {
			if _, there := h.until[l]; there && results[i] == nil {
				h.until[l] = until
			}
		}
		h.mu.Unlock()
	}
}
