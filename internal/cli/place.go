package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/triage"
)

// placeFlags say in which queue the messages of Q wait.
type placeFlags struct {
	shared bool
	from   string
	charge bool
}

func (f *placeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.shared, "shared", false, "Q's messages are in the parked queue that all share, <namespace>.parked")
	flags.StringVar(&f.from, "from", "", "Q's messages are in `QUEUE`: a plain dead-letter queue, a hold, …")
	flags.BoolVar(&f.charge, "accept-charge", false, "look even where looking at messages has a price (the price is printed first)")
	cmd.MarkFlagsMutuallyExclusive("shared", "from")
}

// place is the queue where the messages of q wait.
func (f *placeFlags) place(b broker.Places, q string) triage.Place {
	if f.from != "" {
		return triage.Place{Queue: f.from, Of: q}
	}
	name, shared := b.ParkedPlace(q)
	if shared {
		return triage.Place{Queue: name, Of: q, Strict: true}
	}
	return triage.Place{Queue: name}
}

// arrive counts what waits in p. Where a look at it has a price, it says so
// first, and with a queue that is not Holdfast's own goes on only with
// consent: a delivery limit may be reached by it.
func (f *placeFlags) arrive(ctx context.Context, r *root, s broker.Sifter, p triage.Place) (broker.Depth, error) {
	depth, err := s.Depth(ctx, p.Queue)
	if err != nil {
		return depth, fmt.Errorf("%s: %w%s", p.Queue, err, missingHint(err))
	}
	if depth.Charge == "" || depth.Messages == 0 {
		return depth, nil
	}
	r.warn("looking at the messages of %s has a price: %s", p.Queue, depth.Charge)
	switch {
	case f.from == "":
		// Holdfast's own places have no delivery limit, unless a policy gives
		// them one.
		return depth, nil
	case f.charge:
		return depth, nil
	case !r.StdinTerminal || r.yes:
		// --yes is not enough: what this may cost is not what the verb does.
		return depth, usagef("nothing was looked at: give --accept-charge to pay that price")
	}
	return depth, r.confirm(ctx, "Look at %d messages all the same?", depth.Messages)
}

func missingHint(err error) string {
	if is(err, broker.ErrMissing) {
		return "\nnothing was parked there yet, or it has another name: see --from, --shared and --namespace"
	}
	return ""
}
