package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// Tables is what the doctor asks a store.
type Tables interface {
	Check(ctx context.Context) error
	Status(ctx context.Context) (store.Status, error)
	Inboxes(ctx context.Context) ([]store.InboxStatus, error)
	AsideReasons(ctx context.Context) ([]store.AsideGroup, error)
}

// clock is a store whose database is on another machine.
type clock interface {
	Clock(ctx context.Context) (time.Time, error)
}

// LookAtStore gathers what a store tells. Tables that are not as they should be
// are a fact, and whatever else of it can be had is there, too; an error is of
// class [store.ErrUnreachable].
func LookAtStore(ctx context.Context, t Tables, name string) (*StoreFacts, error) {
	f := &StoreFacts{Name: name, Err: t.Check(ctx)}
	if f.Err != nil && !errors.Is(f.Err, store.ErrSchema) && !errors.Is(f.Err, store.ErrRefused) {
		return nil, f.Err
	}
	var errs [3]error
	f.Outbox, errs[0] = t.Status(ctx)
	f.Inboxes, errs[1] = t.Inboxes(ctx)
	f.Asides, errs[2] = t.AsideReasons(ctx)
	if err := errors.Join(errs[:]...); err != nil && f.Err == nil {
		return nil, err
	}
	if c, ok := t.(clock); ok {
		asked := time.Now()
		if there, err := c.Clock(ctx); err == nil {
			f.Clock, f.Known = there.Sub(asked.Add(time.Since(asked)/2)), true
		}
	}
	return f, nil
}
