package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// recordTimeout bounds the record of an effect that is there, whether or not
// the handler's context has ended meanwhile.
const recordTimeout = 5 * time.Second

var errNoInbox = errors.New("in must not be nil")

// After runs fn, which applies the message, and records afterwards, in a
// transaction of its own, that consumer has handled it. A message that was
// handled before is a [Duplicate] and no error: fn does not run.
//
// Its condition: each effect of fn is idempotent by itself (a unique key, a
// conditional update), since fn runs again
//
//   - when the process ends, or the record fails, between the effect and the
//     record: After then returns the error, and the message is redelivered;
//   - when another process handles the same message at the same time. The
//     later one to finish gets [Overlapped].
//
// Where one transaction can hold record and effect, use [Once]. Recording
// before the effect without a shared transaction is what After is not: it
// would lose the effect of a crash in between.
//
// Inside one process, a second delivery of a message waits until the first is
// over or ctx ends, and then is a duplicate of it, or runs if that failed. So
// fn must not handle the same message with After itself.
//
// An error of fn is returned as it is, and nothing is recorded. fn must use the
// context it is given. Ids are as for [Once].
func After(ctx context.Context, in store.Inbox, consumer string, id ID, fn func(context.Context) error) (Result, error) {
	if err := errors.Join(checkKey(consumer, id), given(in != nil, errNoInbox), given(fn != nil, errNoFn)); err != nil {
		return Result{}, err
	}
	release, err := reserve(ctx, reservation{consumer, id.Message})
	if err != nil {
		return Result{}, fmt.Errorf("inbox: %s: waiting for another delivery of %s: %w", consumer, id.Message, err)
	}
	defer release()
	h := store.Handled{Consumer: consumer, ID: id.Message, Replay: id.Replay}
	was, err := in.Handled(ctx, consumer, id.Message)
	switch {
	case err == nil:
		return Result{Outcome: Duplicate, Earlier: countDuplicate(ctx, in, h, was)}, nil
	case !errors.Is(err, store.ErrNotFound):
		return Result{}, fmt.Errorf("inbox: %s: looking for %s: %w", consumer, id.Message, err)
	}
	inner, run := withCall(ctx)
	if err := fn(inner); err != nil {
		return Result{}, err
	}
	if run.aside.Load() {
		return Result{Outcome: Aside}, nil
	}
	return recordApplied(ctx, in, h)
}

// countDuplicate returns the record as it is then. A duplicate that could not
// be counted is a duplicate all the same.
func countDuplicate(ctx context.Context, in store.Inbox, h, was store.Handled) store.Handled {
	if first, now, err := record(ctx, in, h); err == nil && !first {
		return now
	}
	return was
}

func recordApplied(ctx context.Context, in store.Inbox, h store.Handled) (Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	first, was, err := record(ctx, in, h)
	switch {
	case err != nil:
		return Result{}, fmt.Errorf("inbox: %s: %s was applied and could not be recorded, so it will be applied again: %w",
			h.Consumer, h.ID, err)
	case !first:
		return Result{Outcome: Overlapped, Earlier: was}, nil
	default:
		return Result{Outcome: Applied}, nil
	}
}

func record(ctx context.Context, in store.Inbox, h store.Handled) (first bool, was store.Handled, err error) {
	err = in.WithInbox(ctx, func(tx store.InboxTx) (err error) {
		first, was, err = tx.RecordInbox(ctx, h)
		return err
	})
	return first, was, err
}
