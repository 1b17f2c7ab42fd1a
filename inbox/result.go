package inbox

import (
	"context"
	"sync/atomic"

	"github.com/holdfast-mq/holdfast/store"
)

// Outcome is what has become of one delivery. The set is closed.
type Outcome string

// The outcomes.
const (
	// Applied: fn ran, and what it did is recorded.
	Applied Outcome = "applied"

	// Duplicate: the message was handled before. fn did not run.
	Duplicate Outcome = "duplicate"

	// Aside: fn ran and set the message aside ([SetAside]). It is not recorded
	// as handled, since it was not applied: given back to work, it runs again.
	Aside Outcome = "aside"

	// Overlapped is of [After] alone: fn ran, and meanwhile it ran in another
	// process, too.
	Overlapped Outcome = "overlapped"
)

// Result is what has become of one delivery.
type Result struct {
	Outcome Outcome

	// Earlier is the record of the first handling, of Duplicate and
	// Overlapped. Its Replay says whether a replay brought that one.
	Earlier store.Handled
}

// call is one run of fn, as the context that fn is given knows it.
type call struct{ aside atomic.Bool }

type callKey struct{}

func withCall(ctx context.Context) (context.Context, *call) {
	c := &call{}
	return context.WithValue(ctx, callKey{}, c), c
}

// noteAside tells the run of fn that ctx belongs to, if it does to one.
func noteAside(ctx context.Context) {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.aside.Store(true)
	}
}
