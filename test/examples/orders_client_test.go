package examples

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	clients   = 4
	customers = 53
)

// client posts to the service until it says yes, each time with the same key.
type client struct {
	service *process
	refused *atomic.Int64
}

func (c client) post(ctx context.Context, path, key, body string) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if status := c.try(ctx, path, key, body); status == http.StatusCreated || status == http.StatusOK {
			return nil
		}
		c.refused.Add(1)
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %s: %w", path, key, ctx.Err())
		case <-again.C:
		}
	}
}

// try returns the status, or 0 when there was no answer.
func (c client) try(ctx context.Context, path, key, body string) int {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, *c.service.address.Load()+path, strings.NewReader(body))
	if err != nil {
		return 0
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func (c client) order(ctx context.Context, id string, n int) error {
	return c.post(ctx, "/orders", id, fmt.Sprintf(`{"customer":"customer-%d","cents":%d}`, n%customers, cents(n)))
}

func (c client) pay(ctx context.Context, order string, n int) error {
	return c.post(ctx, "/payments", "payment-"+order, fmt.Sprintf(`{"order":%q,"cents":%d}`, order, cents(n)))
}

func cents(n int) int { return 100 + n%997 }

// postOrders posts orders from several clients, every tenth with its payment,
// and begins with those that were paid early. The function that it returns ends
// that, and returns the ids of all orders: each was accepted.
func (s *shop) postOrders(t *testing.T, service *process) (end func() []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	t.Cleanup(cancel)
	last := make(chan struct{})
	var mu sync.Mutex
	var ids []string
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() {
			pace := time.NewTicker(40 * time.Millisecond)
			defer pace.Stop()
			for n := i; ; n += clients {
				select {
				case <-last:
					return
				case <-pace.C:
				}
				id := orderID(n)
				err := s.client(service).order(ctx, id, n)
				if err == nil && n >= earlyPayments && n%10 == 0 {
					err = s.client(service).pay(ctx, id, n)
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	return func() []string {
		close(last)
		running.Wait()
		return ids
	}
}

func orderID(n int) string { return fmt.Sprintf("order-%d", n) }

func (s *shop) client(service *process) client { return client{service, &s.refused} }
