package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// The bounds of [Retention].Keep.
const (
	MinKeep = time.Second
	MaxKeep = 10 * 365 * 24 * time.Hour
)

// pruneBatch is how many records one transaction removes: few enough that none
// holds locks for long.
const pruneBatch = 1000

// Retention says how long records are kept.
type Retention struct {
	// Keep is how long a message may be on its way, waits in queues, rungs and
	// holds included: [MinKeep] to [MaxKeep]. Required. Where a consumer may be
	// down for a weekend, a week is a fair choice.
	Keep time.Duration

	// OldestParked says when the oldest message failed first that is parked or
	// waits anywhere else for an operator to replay it, and false when there is
	// none. Required, since a replay of a message whose record is gone would be
	// applied again. The examples of this package read it from a parked queue.
	OldestParked func(ctx context.Context) (at time.Time, found bool, err error)
}

func (r Retention) validate() error {
	var errs []error
	if r.Keep < MinKeep || r.Keep > MaxKeep {
		errs = append(errs, fmt.Errorf("Retention.Keep must be %v to %v, not %v", MinKeep, MaxKeep, r.Keep))
	}
	if r.OldestParked == nil {
		errs = append(errs, errors.New("Retention.OldestParked must not be nil: a replay of what it does not know would be applied again"))
	}
	return errors.Join(errs...)
}

// Prune removes the records of consumer that no message can need any more, in
// short transactions, and returns how many also with an error. Records stay for
// r.Keep, and while something is parked for r.Keep before that failed first: so
// that a replay of it is seen as a duplicate where its effect was committed.
//
// An error of OldestParked removes nothing. Messages that a replay has put back
// and that no consumer has taken yet are not parked any more: prune when the
// replay has been consumed.
func Prune(ctx context.Context, in store.Inbox, consumer string, r Retention) (int, error) {
	err := errors.Join(checkText("consumer", consumer, MaxConsumer), r.validate())
	if in == nil {
		err = errors.Join(err, errNoInbox)
	}
	if err != nil {
		return 0, fmt.Errorf("inbox: %w: %w", store.ErrConfig, err)
	}
	age, err := r.age(ctx)
	if err != nil {
		return 0, fmt.Errorf("inbox: %s: nothing was pruned, since it is not known what is parked: %w", consumer, err)
	}
	removed := 0
	for {
		n, err := in.PruneInbox(ctx, consumer, age, pruneBatch)
		removed += n
		if err != nil {
			return removed, fmt.Errorf("inbox: %s: pruning: %w", consumer, err)
		}
		if n < pruneBatch {
			return removed, nil
		}
	}
}

// age is how old a record must be to go. That of what is parked is measured by
// this process's clock, and Keep leaves room for what clocks differ by.
func (r Retention) age(ctx context.Context) (time.Duration, error) {
	at, found, err := r.OldestParked(ctx)
	switch {
	case err != nil:
		return 0, err
	case !found:
		return r.Keep, nil
	case at.IsZero():
		return 0, errors.New("of something that is parked nobody can say since when")
	default:
		return r.Keep + max(time.Since(at), 0), nil
	}
}
