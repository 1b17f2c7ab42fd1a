package triage

import (
	"context"

	"github.com/holdfast-mq/holdfast/broker"
)

// Discard removes the picked messages and keeps nothing of them. [Export] with
// Remove keeps a copy on disk.
func Discard(ctx context.Context, s broker.Sifter, p Place, b Bounds) (Outcome, error) {
	return newPass(p, b, func(*broker.Stored) (broker.Action, string, error) {
		return broker.Action{Verb: broker.VerbDrop}, "", nil
	}).run(ctx, s)
}
