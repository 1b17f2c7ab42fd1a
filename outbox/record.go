package outbox

import (
	"context"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// linger is how long an outcome waits for others, so that they are written
// together. What is published and not recorded when a process dies is published
// again.
const linger = 50 * time.Millisecond

// recorder writes the outcomes of one claim.
type recorder struct {
	relay  *Relay
	claim  store.Claim
	fenced bool // something was not written
}

// run returns when in is closed and all that came was written, or was given
// up since ctx ended.
func (r *recorder) run(ctx context.Context, in <-chan store.Outcome) {
	var some []store.Outcome
	for first := range in {
		some = gather(append(some[:0], first), in)
		r.write(ctx, some)
	}
}

// gather takes what comes within linger, up to as many as one claim has.
func gather(some []store.Outcome, in <-chan store.Outcome) []store.Outcome {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for len(some) < cap(in) {
		select {
		case o, open := <-in:
			if !open {
				return some
			}
			some = append(some, o)
		case <-timer.C:
			return some
		}
	}
	return some
}

// write tries for as long as it takes: a row whose outcome is known and not
// written would be published again.
func (r *recorder) write(ctx context.Context, some []store.Outcome) {
	var b backoff
	for {
		var written []string
		err := r.relay.callForWork(ctx, func(ctx context.Context) (err error) {
			written, err = r.relay.cfg.Outbox.Record(ctx, r.claim, some)
			return err
		})
		if err == nil {
			r.written(some, written)
			return
		}
		if !pause(ctx, b.next(firstWait, longWait)) {
			r.written(some, nil)
			return
		}
	}
}

// written counts what was written, and what was not since somebody else has
// moved it.
func (r *recorder) written(some []store.Outcome, ids []string) {
	is := make(map[string]bool, len(ids))
	for _, id := range ids {
		is[id] = true
	}
	fenced := 0
	for _, o := range some {
		if !is[o.ID] {
			fenced++
			continue
		}
		r.relay.books.count(o)
	}
	if fenced > 0 {
		r.fenced = true
		r.relay.books.fenced.Add(int64(fenced))
		r.relay.tell(RelayEvent{Kind: RelayFenced, Lane: r.claim.Lane, Count: fenced})
	}
}

func (b *books) count(o store.Outcome) {
	if o.Refused {
		b.refusals.Add(1)
	}
	if o.Unknown {
		b.unknowns.Add(1)
	}
	switch o.State {
	case store.Published:
		b.published.Add(1)
	case store.Failed:
		b.failed.Add(1)
	case store.Publishing:
		b.left.Add(1)
	case store.Pending:
		b.returned.Add(1)
	}
}
