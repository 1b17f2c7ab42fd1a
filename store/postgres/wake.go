package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// bell hears the notifications of producers on a connection of its own, which
// it opens when somebody first waits. While it has none, who waits polls.
type bell struct {
	pool    *pgxpool.Pool
	channel string

	start  sync.Once
	cancel context.CancelFunc
	ctx    context.Context
	ended  sync.WaitGroup

	mu   sync.Mutex
	rung chan struct{} // closed at the next ring, for who waits now
	last chan struct{} // closed at the last one

	// kept says that the last ring may have come while somebody was between a
	// look and a wait: the next wait is short.
	kept bool
}

var errClosed = errors.New("postgres: waiting: the store is closed")

const (
	redialFirst = 100 * time.Millisecond
	redialMost  = 30 * time.Second
)

func newBell(pool *pgxpool.Pool, n names) *bell {
	b := &bell{pool: pool, channel: n.values()["Channel"], rung: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// Wait implements [store.Outbox].
func (s *Store) Wait(ctx context.Context, d time.Duration) error { return s.bell.wait(ctx, d) }

func (b *bell) wait(ctx context.Context, d time.Duration) error {
	b.start.Do(func() { b.ended.Go(b.listen) })
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-b.next():
	case <-timer.C:
	case <-b.ctx.Done():
	case <-ctx.Done():
	}
	if b.ctx.Err() != nil {
		return errClosed
	}
	return ctx.Err()
}

// next returns what the next ring closes, or was closed when one was kept.
func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept {
		b.kept = false
		return b.last
	}
	return b.rung
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.rung)
	b.last, b.rung, b.kept = b.rung, make(chan struct{}), true
}

// listen listens until the store is closed, and connects again when it must.
func (b *bell) listen() {
	pause := redialFirst
	for b.ctx.Err() == nil {
		heard := b.hear()
		if heard {
			pause = redialFirst
		}
		select {
		case <-b.ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, redialMost)
	}
}

// hear listens on one connection until it ends, and reports whether it began.
func (b *bell) hear() bool {
	pooled, err := b.pool.Acquire(b.ctx)
	if err != nil {
		return false
	}
	conn := pooled.Hijack() // out of the pool: a waiting relay takes nobody's place
	defer conn.Close(context.WithoutCancel(b.ctx))
	if _, err := conn.Exec(b.ctx, `LISTEN "`+b.channel+`"`); err != nil {
		return false
	}
	b.ring() // what was committed before was not heard
	for {
		if _, err := conn.WaitForNotification(b.ctx); err != nil {
			return true
		}
		b.ring()
	}
}

func (b *bell) close() {
	b.cancel()
	b.start.Do(func() {}) // nobody starts it any more
	b.ended.Wait()
}
