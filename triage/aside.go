package triage

import (
	"context"
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/inbox"
	"github.com/holdfast-mq/holdfast/store"
)

// Redriven counts what a redrive has done.
type Redriven struct {
	Total int `json:"total"` // rows that were picked
	Moved int `json:"moved"` // back in their queue, and no row any more
	Gone  int `json:"gone"`  // somebody else had them, or has
}

// RedriveOptions say which rows are given back to work, and where to.
type RedriveOptions struct {
	store.AsideFilter

	// Queue is where to, in place of the queue that each came from.
	Queue string

	// ID marks the copies as a replay; [NewReplayID] when empty.
	ID string

	// Moved is told after each row; it may be nil.
	Moved func(Redriven)
}

// Redrive gives messages that were set aside back to their queues, one by one
// and oldest first: published, confirmed and routed, and then the row is
// removed. Ended in between, also by a kill, a message is in its queue and its
// row is still there: never a loss, and a duplicate that carries the replay's
// id. The first copy that fails ends it with its error; its row stays.
func Redrive(ctx context.Context, s store.SetAsides, p broker.Publisher, o RedriveOptions) (id string, done Redriven, err error) {
	if o.ID == "" {
		o.ID = NewReplayID()
	}
	rows, err := s.Asides(ctx, o.AsideFilter)
	if err != nil {
		return o.ID, done, err
	}
	done.Total = len(rows)
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return o.ID, done, err
		}
		moved, err := s.Redrive(ctx, row.ID, func(a store.Aside) error { return o.publish(ctx, p, a) })
		switch {
		case err != nil:
			return o.ID, done, fmt.Errorf("%s: %w", row.ID, err)
		case moved:
			done.Moved++
		default:
			done.Gone++
		}
		if o.Moved != nil {
			o.Moved(done)
		}
	}
	return o.ID, done, nil
}

func (o RedriveOptions) publish(ctx context.Context, p broker.Publisher, a store.Aside) error {
	queue := o.Queue
	if queue == "" {
		queue = a.Queue
	}
	if queue == "" {
		return fmt.Errorf("%w: the row does not say which queue it came from: name one", broker.ErrConfig)
	}
	m, err := inbox.Restore(a)
	if err != nil {
		return err
	}
	m.Headers[broker.HeaderReplayID] = o.ID
	m.Headers[broker.HeaderReplays] = int64(a.Redrives + 1)
	return p.Publish(ctx, broker.Target{Queue: queue, Key: a.Key}, m)
}
