package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mq/holdfast/store"
)

var (
	errNoTx = errors.New("tx must not be nil")
	errNoFn = errors.New("fn must not be nil")
)

// Once records in the caller's transaction that consumer has handled the
// message, and then runs fn, which applies it in the same transaction. A
// message that was handled before is a [Duplicate] and no error: fn does not
// run, and the delivery is to be acknowledged.
//
// The caller commits when the error is nil and must roll back otherwise: then
// the record is gone with the effect, and the next delivery runs, instead of
// being taken for a duplicate of itself. An error of fn is returned as it is,
// with its verdict.
//
// Where another transaction is just handling the same message, in this process
// or another, Once waits for its end and then runs fn or finds the record. So
// only what fn does in this transaction is done once. What it does outside (a
// mail, a call) may be done again after a rollback: put it into an outbox.
//
// A replay of a message whose effect was never committed runs; one of a
// message whose effect was is a duplicate. fn must use the context it is given.
//
// A message without an id is refused with [store.ErrConfig] and the verdict
// park.
func Once(ctx context.Context, tx store.InboxTx, consumer string, id ID, fn func(context.Context) error) (Result, error) {
	if err := errors.Join(checkKey(consumer, id), given(tx != nil, errNoTx), given(fn != nil, errNoFn)); err != nil {
		return Result{}, err
	}
	first, was, err := tx.RecordInbox(ctx, store.Handled{Consumer: consumer, ID: id.Message, Replay: id.Replay})
	if err != nil {
		return Result{}, fmt.Errorf("inbox: %s: recording %s: %w", consumer, id.Message, err)
	}
	if !first {
		return Result{Outcome: Duplicate, Earlier: was}, nil
	}
	ctx, run := withCall(ctx)
	if err := fn(ctx); err != nil {
		return Result{}, err
	}
	if !run.aside.Load() {
		return Result{Outcome: Applied}, nil
	}
	if err := tx.ForgetInbox(ctx, consumer, id.Message); err != nil {
		return Result{}, fmt.Errorf("inbox: %s: setting %s aside: %w", consumer, id.Message, err)
	}
	return Result{Outcome: Aside}, nil
}

func given(ok bool, err error) error {
	if ok {
		return nil
	}
	return refused(err)
}
