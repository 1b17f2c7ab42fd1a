package triage

import (
	"context"

	"github.com/holdfast-mq/holdfast/broker"
)

// ListOptions bounds a [List].
type ListOptions struct {
	Select Selection

	// Limit is how many messages to show at most; 0 is no limit.
	Limit int

	// Look is how many messages to look at, from the head of the queue; 0 is
	// no limit.
	Look int

	// Window is as in [Bounds].
	Window int
}

// List shows each message that is picked, in order, and leaves all of them as
// they are. An error of show ends it and is returned. Moved in its outcome
// counts what was shown, though nothing moved.
//
// Looking can have a price on some queues: see [broker.Depth] and its Charge.
func List(ctx context.Context, s broker.Sifter, p Place, o ListOptions, show func(*broker.Stored) error) (Outcome, error) {
	shown := 0
	run := newPass(p, Bounds{Select: o.Select, Window: o.Window}, func(m *broker.Stored) (broker.Action, string, error) {
		if o.Limit > 0 && shown >= o.Limit {
			return broker.Action{Verb: broker.VerbStop}, "", nil
		}
		if err := show(m); err != nil {
			return broker.Action{}, "", err
		}
		shown++
		return broker.Action{Verb: broker.VerbKeep}, "", nil
	})
	run.look = o.Look
	outcome, err := run.run(ctx, s)
	outcome.Moved = shown
	return outcome, err
}
