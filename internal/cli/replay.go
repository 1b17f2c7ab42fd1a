package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/triage"
)

type replayFlags struct {
	place     placeFlags
	pick      selectFlags
	to        string
	toQueue   string
	rate      float64
	refuse    []string
	malformed bool
	dryRun    bool
}

func newReplay(r *root) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay Q",
		Short: "Copy parked messages back to their queue, and remove each once its copy is safe",
		Long: "Replay copies parked messages back to work. Each is removed only after its copy was\n" +
			"confirmed and routed: ended at any point, also by kill -9, a message is where it was or\n" +
			"where it goes, or (marked with the replay id) in both. Running it again goes on.\n\n" +
			"Copies are fresh: the failure's record is stripped, the replay's id and count are added.",
		Example: "  holdfast replay orders --dry-run\n  holdfast replay orders --reason exhausted --rate 50\n  holdfast replay orders --from orders.dlq --refuse-keys 'invite.*'",
		Args:    oneQueue,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options(args[0])
			if err != nil {
				return err
			}
			return r.withBroker(cmd.Context(), f.place.shared, func(b app.Broker) error {
				run := &replay{moving: moving{root: r, done: "replayed"}, place: f.place.place(b, args[0]), options: o, dry: f.dryRun}
				return run.run(cmd.Context(), b, &f.place)
			})
		},
	}
	f.place.add(cmd)
	f.pick.add(cmd, 0, "replay at most `N` messages; 0 replays all")
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", string(triage.RouteQueue), "queue: to Q alone, under the original key; origin: to the exchange it was first published to, so that its other subscribers get it again, too")
	flags.StringVar(&f.toQueue, "to-queue", "", "send to this `QUEUE`, whatever the messages say of their origin")
	flags.Float64Var(&f.rate, "rate", 0, "replay at most `N` messages a second; 0 is no limit")
	flags.StringSliceVar(&f.refuse, "refuse-keys", nil, "leave messages whose original key fits this `GLOB` where they are (repeatable): those that carry a token or password")
	flags.BoolVar(&f.malformed, "malformed", false, "also replay what was parked as malformed: the decoder was mended")
	flags.BoolVar(&f.dryRun, "dry-run", false, "count and list what would be replayed, and do nothing")
	return cmd
}

func (f *replayFlags) options(q string) (triage.ReplayOptions, error) {
	o := triage.ReplayOptions{Route: triage.Route(f.to), Queue: q, Malformed: f.malformed, ID: triage.NewReplayID()}
	var err error
	if o.Select, err = f.pick.selection(); err != nil {
		return o, err
	}
	if o.RefuseKeys, err = globs(f.refuse); err != nil {
		return o, err
	}
	o.Limit, o.Rate = f.pick.limit, f.rate
	switch {
	case f.rate < 0:
		return o, usagef("--rate is a number of messages a second, not %v", f.rate)
	case o.Route != triage.RouteQueue && o.Route != triage.RouteOrigin:
		return o, usagef("--to is queue or origin, not %q", f.to)
	case f.toQueue != "" && o.Route == triage.RouteOrigin:
		return o, usagef("--to-queue and --to origin contradict each other: give one")
	case f.toQueue != "":
		o.Queue, o.Force = f.toQueue, true
	}
	return o, nil
}

// replay is one run of the command.
type replay struct {
	moving
	place   triage.Place
	options triage.ReplayOptions
	dry     bool
	target  broker.Depth
}

func (v *replay) run(ctx context.Context, s broker.Sifter, f *placeFlags) error {
	if err := v.checkTarget(ctx, s); err != nil {
		return err
	}
	depth, err := f.arrive(ctx, v.root, s, v.place)
	if err != nil {
		return err
	}
	v.options.Window = depth.Messages
	if depth.Messages == 0 {
		v.id = v.options.ID
		return v.finish(triage.Outcome{}, nil)
	}
	if v.dry {
		return v.rehearse(ctx, s)
	}
	goal, err := v.goal(ctx, s)
	if err != nil {
		return err
	}
	if err := v.ask(ctx, goal, depth.Messages); err != nil {
		return err
	}
	v.options.Bounds = v.bounds(v.options.Bounds, goal)
	id, outcome, err := triage.Replay(ctx, s, v.place, v.options)
	v.id = id
	return v.finish(outcome, err)
}

// checkTarget fails before anything moved when the target is not there.
func (v *replay) checkTarget(ctx context.Context, s broker.Sifter) error {
	if v.options.Route == triage.RouteOrigin {
		return nil
	}
	if v.place.Queue == v.options.Queue {
		return usagef("%s is where the messages wait: replaying them to it would only turn it over", v.place.Queue)
	}
	var err error
	v.target, err = s.Depth(ctx, v.options.Queue)
	if err != nil && !errors.Is(err, broker.ErrUnsupported) { // some brokers cannot count; the first copy tells then
		return fmt.Errorf("the target %s: %w", v.options.Queue, err)
	}
	return nil
}

// goal counts what would be replayed, so that the end can be told from a
// stall. Without filters every message is meant and nothing need be read.
func (v *replay) goal(ctx context.Context, s broker.Sifter) (int, error) {
	o := v.options
	if o.Select.Empty() && len(o.RefuseKeys) == 0 && v.place.Of == "" {
		return limited(o.Window, o.Limit), nil
	}
	o.Refused = nil
	outcome, err := triage.Rehearse(ctx, s, v.place, o, nil)
	return outcome.Moved, err
}

func (v *replay) ask(ctx context.Context, goal, waiting int) error {
	to := "to queue " + v.options.Queue
	if v.options.Route == triage.RouteOrigin {
		to = "to the exchanges they came from"
		v.warn("--to origin: every subscriber of those exchanges gets the messages again, not only this queue")
	}
	v.say("%s: replaying %d of %d waiting messages %s", v.place.Queue, goal, waiting, to)
	if v.options.Route == triage.RouteQueue && v.target.Consumers == 0 {
		v.warn("nobody consumes %s: the messages will wait there", v.options.Queue)
	}
	if goal == 0 {
		return nil
	}
	return v.confirm(ctx, "Replay %s?", count(goal, "message"))
}

func (v *replay) rehearse(ctx context.Context, s broker.Sifter) error {
	v.options.Refused = v.refused
	listed := 0
	outcome, err := triage.Rehearse(ctx, s, v.place, v.options, func(m *broker.Stored) {
		listed++
		e := triage.NewEntry(m, triage.Detail{})
		switch {
		case v.json():
			_ = v.emit(e) // the result line comes whatever becomes of this one
		case listed <= maxRefusals:
			fmt.Fprintf(v.Stdout, "#%d %s %s key %q\n", e.Position, printable(orDash(triage.Name(m))), printable(why(e)), e.Key)
		case listed == maxRefusals+1:
			fmt.Fprintln(v.Stdout, "… (--output json lists all)")
		}
	})
	if err != nil {
		return err
	}
	if v.json() {
		return v.emit(resultLine{Type: "result", Verb: v.done, DryRun: true, Outcome: outcome, Kept: outcome.Total, Left: outcome.Left()})
	}
	_, err = fmt.Fprintf(v.Stdout, "dry run: would replay %d of %d%s\n", outcome.Moved, outcome.Total, keptWhy(outcome, 0))
	return err
}
