package cli

import (
	"context"
	"time"

	"github.com/holdfast-mq/holdfast"
)

// idleWatch stops a consumer once nothing happened for a while. The zero
// duration never stops it.
type idleWatch struct {
	after time.Duration
	event chan struct{}
}

func newIdleWatch(after time.Duration) *idleWatch {
	return &idleWatch{after: after, event: make(chan struct{}, 1)}
}

// Observe takes note that something happened. It never blocks.
func (w *idleWatch) Observe(holdfast.Event) {
	select {
	case w.event <- struct{}{}:
	default:
	}
}

// start calls stop once c was attached, worked on nothing and told nothing for
// as long as it takes. It ends with ctx.
func (w *idleWatch) start(ctx context.Context, c runner, stop func()) {
	if w.after <= 0 {
		return
	}
	go func() {
		quiet := time.NewTimer(w.after)
		defer quiet.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.event:
			case <-quiet.C:
				if h := c.Health(); h.Ready() && h.Books.InFlight == 0 {
					stop()
					return
				}
			}
			quiet.Reset(w.after)
		}
	}()
}
