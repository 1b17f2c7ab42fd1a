package inbox

import (
	"context"
	"fmt"

	"github.com/holdfast-mq/holdfast/store"
)

// Advance says that consumer goes on with what follows number n of aggregate,
// whatever was missing before: after a [Gap], or where a consumer begins in the
// middle. It never moves a mark back.
func Advance(ctx context.Context, tx store.InboxTx, consumer, aggregate string, n int64) error {
	m, _, err := lockMark(ctx, tx, consumer, aggregate)
	if err != nil {
		return err
	}
	m.Sequence = max(m.Sequence, n)
	return setMark(ctx, tx, consumer, aggregate, m)
}

// Rewind moves a mark back, to let events in that it keeps out: an event from
// the future was latched, or a projection is to be built again. Then give the
// events back to work. The counts stay. Time and Sequence of to are each taken
// where they are lower, so that a rewind never lets anything be skipped.
//
// An aggregate that has no mark is [store.ErrNotFound].
func Rewind(ctx context.Context, tx store.InboxTx, consumer, aggregate string, to store.Mark) error {
	m, found, err := lockMark(ctx, tx, consumer, aggregate)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("inbox: %s has no mark of %s: %w", consumer, aggregate, store.ErrNotFound)
	}
	m.Sequence = min(m.Sequence, max(to.Sequence, 0))
	if to.Time.Before(m.Time) {
		m.Time = to.Time
	}
	return setMark(ctx, tx, consumer, aggregate, m)
}

func setMark(ctx context.Context, tx store.InboxTx, consumer, aggregate string, m store.Mark) error {
	if err := tx.SetMark(ctx, consumer, aggregate, m); err != nil {
		return fmt.Errorf("inbox: %s: writing the mark of %s: %w", consumer, aggregate, err)
	}
	return nil
}
