package cli

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/triage"
)

func newResume(r *root) *cobra.Command {
	var place placeFlags
	var pick selectFlags
	var rate float64
	cmd := &cobra.Command{
		Use:   "resume Q",
		Short: "End a hold early: move what waits in Q's hold back to Q, with its counts",
		Args:  oneQueue,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, q := cmd.Context(), args[0]
			selection, err := pick.selection()
			if err != nil {
				return err
			}
			if rate < 0 {
				return usagef("--rate is a number of messages a second, not %v", rate)
			}
			return r.withBroker(ctx, false, func(b app.Broker) error {
				p := triage.Place{Queue: b.HoldPlace(q)}
				depth, err := place.arrive(ctx, r, b, p)
				if err != nil {
					return err
				}
				v := moving{root: r, done: "resumed"}
				bounds := triage.Bounds{Select: selection, Limit: pick.limit, Window: depth.Messages, Rate: rate}
				if depth.Messages == 0 {
					return v.finish(triage.Outcome{}, nil)
				}
				goal, err := countMatching(ctx, b, p, bounds)
				if err != nil {
					return err
				}
				r.say("%s: moving %d of %d held messages back to %s", p.Queue, goal, depth.Messages, q)
				if err := r.confirm(ctx, "Resume %s?", count(goal, "message")); err != nil {
					return err
				}
				outcome, err := triage.Resume(ctx, b, p, q, v.bounds(bounds, goal))
				return v.finish(outcome, err)
			})
		},
	}
	pick.add(cmd, 0, "resume at most `N` messages; 0 resumes all")
	cmd.Flags().Float64Var(&rate, "rate", 0, "resume at most `N` messages a second; 0 is no limit")
	cmd.Flags().BoolVar(&place.charge, "accept-charge", false, "go on even where looking at messages has a price")
	return cmd
}
