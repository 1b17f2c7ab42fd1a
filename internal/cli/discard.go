package cli

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/triage"
)

func newDiscard(r *root) *cobra.Command {
	var place placeFlags
	var pick selectFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "discard Q",
		Short: "Remove parked messages for good; 'export --remove' keeps a copy",
		Args:  oneQueue,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			selection, err := pick.selection()
			if err != nil {
				return err
			}
			return r.withBroker(ctx, place.shared, func(b app.Broker) error {
				p := place.place(b, args[0])
				depth, err := place.arrive(ctx, r, b, p)
				if err != nil {
					return err
				}
				v := moving{root: r, done: "discarded"}
				bounds := triage.Bounds{Select: selection, Limit: pick.limit, Window: depth.Messages}
				if depth.Messages == 0 {
					return v.finish(triage.Outcome{}, nil)
				}
				goal, err := countMatching(ctx, b, p, bounds)
				if err != nil {
					return err
				}
				r.say("%s: discarding %d of %d waiting messages for good", p.Queue, goal, depth.Messages)
				switch {
				case dryRun:
					return nil
				case !r.yes && !r.StdinTerminal:
					return usagef("nothing was discarded: without a terminal to ask on, give --yes")
				}
				if err := r.confirm(ctx, "Discard %s? There is no way back.", count(goal, "message")); err != nil {
					return err
				}
				outcome, err := triage.Discard(ctx, b, p, v.bounds(bounds, goal))
				return v.finish(outcome, err)
			})
		},
	}
	place.add(cmd)
	pick.add(cmd, 0, "discard at most `N` messages; 0 discards all")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "count only")
	return cmd
}
