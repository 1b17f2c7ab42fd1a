package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// Order is how an event stands to what its aggregate has seen. The set is
// closed.
type Order string

// The orders.
const (
	// InOrder: apply it. The mark is now at this event.
	InOrder Order = "in_order"

	// Stale: the aggregate is at this event or beyond it. Skip it.
	Stale Order = "stale"

	// Gap is of [Sequence] alone: something before it has not come.
	Gap Order = "gap"
)

// Latest compares the event's own time with the newest that consumer has seen
// of aggregate, and moves the mark to it when it is newer. An event that is not
// newer is [Stale]: it is counted in the mark, logged at level info by
// [slog.Default], and the handler skips it.
//
// Equal times are stale, so that the same event again is skipped. Two events of
// one aggregate that can share a time, to the microsecond that databases keep,
// need [Sequence]. The time is the producer's: its clock decides what wins, and
// an event from the future keeps all others out until [Rewind].
//
// Ask before [Once] and in the same transaction, not inside its fn: an event
// that was skipped is then not recorded as handled, and can be given back to
// work after a rewind. Nothing of it holds unless the caller commits. Events of
// one aggregate that come at once wait for each other.
func Latest(ctx context.Context, tx store.InboxTx, consumer, aggregate string, at time.Time) (Order, error) {
	at = at.UTC().Truncate(time.Microsecond)
	if at.IsZero() {
		return "", refused(errors.New("at must not be zero: an event without a time cannot be compared"))
	}
	return guard(ctx, tx, consumer, aggregate, func(m *store.Mark) (Order, []any) {
		was := m.Time
		if !at.After(was) {
			m.Stale++
			return Stale, []any{"event_at", at, "last_at", was}
		}
		m.Time = at
		return InOrder, nil
	})
}

// Sequence compares the event's number with the last that consumer has seen of
// aggregate. The numbers of an aggregate are 1, 2, 3 and so on, given by its
// producer in the transaction that changes it.
//
//   - The next number is [InOrder] and moves the mark.
//   - A number that was reached is [Stale]: counted in the mark, logged at level
//     info by [slog.Default], and skipped by the handler.
//   - A number beyond the next is a [Gap]: counted and logged alike, and the
//     mark stays where it is.
//
// What a gap means, the handler says:
//
//   - return [holdfast.RetryAfter]: what is missing is usually just on its way,
//     and the ladder is spent waiting for it;
//   - [SetAside] and commit: every later event of the aggregate is then a gap,
//     too, until the missing one came and the rows are given back to work in
//     their order;
//   - [Advance] to this number and apply it, where a missing event does no
//     harm. When it comes after all, it is stale.
//
// A consumer that begins in the middle of an aggregate's life advances to where
// it begins. Call it as [Latest].
func Sequence(ctx context.Context, tx store.InboxTx, consumer, aggregate string, n int64) (Order, error) {
	if n < 1 {
		return "", refused(fmt.Errorf("n must be at least 1, not %d: the first event of an aggregate is number 1", n))
	}
	return guard(ctx, tx, consumer, aggregate, func(m *store.Mark) (Order, []any) {
		last := m.Sequence
		switch {
		case n <= last:
			m.Stale++
			return Stale, []any{"event_sequence", n, "last_sequence", last}
		case n > last+1:
			m.Gaps++
			return Gap, []any{"event_sequence", n, "last_sequence", last}
		}
		m.Sequence = n
		return InOrder, nil
	})
}

// guard reads the mark, lets judge change it, and writes it.
func guard(
	ctx context.Context, tx store.InboxTx, consumer, aggregate string, judge func(*store.Mark) (Order, []any),
) (Order, error) {
	m, _, err := lockMark(ctx, tx, consumer, aggregate)
	if err != nil {
		return "", err
	}
	order, details := judge(&m)
	if err := setMark(ctx, tx, consumer, aggregate, m); err != nil {
		return "", err
	}
	if order != InOrder {
		slog.InfoContext(ctx, "holdfast: event out of order",
			append([]any{"consumer", consumer, "aggregate", aggregate, "order", string(order)}, details...)...)
	}
	return order, nil
}

func lockMark(ctx context.Context, tx store.InboxTx, consumer, aggregate string) (store.Mark, bool, error) {
	err := refused(errors.Join(checkText("consumer", consumer, MaxConsumer), checkText("aggregate", aggregate, MaxAggregate)))
	if err = errors.Join(err, given(tx != nil, errNoTx)); err != nil {
		return store.Mark{}, false, err
	}
	m, found, err := tx.LockMark(ctx, consumer, aggregate)
	if err != nil {
		return store.Mark{}, false, fmt.Errorf("inbox: %s: reading the mark of %s: %w", consumer, aggregate, err)
	}
	return m, found, nil
}
