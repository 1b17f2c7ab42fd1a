package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/store"
)

type rearmFlags struct {
	pick   rowFlags
	all    bool
	dryRun bool
	watch  time.Duration
}

func newOutboxRearm(r *root, db *storeFlags) *cobra.Command {
	var f rearmFlags
	cmd := &cobra.Command{
		Use:   "rearm [ID…]",
		Short: "Let rows that failed be published after all",
		Long: "Rearm makes rows pending again, as if they had never been tried. With --state publishing it\n" +
			"does so with rows that were left for a human, unless a live relay is at work on them.\n\n" +
			"A row whose outcome is unknown may have been delivered: armed again, it is delivered once\n" +
			"more. Decide per event type whether its consumers tell a duplicate (holdfast inbox).",
		Example: "  holdfast outbox rearm 0198c7d2-5f0e-7b7a-9f0a-3c2f0b1d4e5f\n  holdfast outbox rearm --class unrouted --destination shop\n  holdfast outbox rearm --state publishing --type order.placed",
		RunE: func(cmd *cobra.Command, ids []string) error {
			filter, err := f.filter(ids)
			if err != nil {
				return err
			}
			return db.withTables(cmd.Context(), r, func(s app.Store) error { return f.run(cmd.Context(), r, s, filter) })
		},
	}
	f.pick.add(cmd, string(store.Failed), "failed or publishing")
	cmd.Flags().BoolVar(&f.all, "all", false, "all rows in that state: without it, name ids or a filter")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "list the rows and change nothing")
	addWatch(cmd, &f.watch)
	return cmd
}

func (f *rearmFlags) filter(ids []string) (store.Filter, error) {
	filter, err := f.pick.filter(ids)
	switch {
	case err != nil:
		return filter, err
	case filter.State != store.Failed && filter.State != store.Publishing:
		return filter, usagef("--state is failed or publishing: the others need no arming, and what is published is never published again by this")
	case len(ids) == 0 && !f.pick.narrow() && !f.all:
		return filter, usagef("which rows? Name their ids, give a filter (--class, --destination, --type, --older-than), or --all")
	}
	return filter, nil
}

func (f *rearmFlags) run(ctx context.Context, r *root, s store.Outbox, filter store.Filter) error {
	rows, err := s.List(ctx, filter)
	if err != nil {
		return err
	}
	if len(rows) == filter.Limit {
		r.say("these are the first %d only: see --limit, or run it again", filter.Limit)
	}
	uncertain := 0
	for _, w := range rows {
		if w.State == store.Publishing || w.Class == store.ClassUnknown || w.Unknowns > 0 {
			uncertain++
		}
	}
	if f.dryRun {
		if err := r.showRows(rows); err != nil {
			return err
		}
		r.say("dry run: would arm at most %s", count(len(rows), "row"))
		return nil
	}
	if uncertain > 0 {
		r.warn("%d of them may have been delivered: armed again, those are delivered once more", uncertain)
	}
	if len(rows) > 0 {
		if err := r.confirm(ctx, "Arm %s again?", count(len(rows), "row")); err != nil {
			return err
		}
	}
	var alive []string
	if filter.State == store.Publishing {
		if alive, err = r.alive(ctx, s, f.watch); err != nil {
			return err
		}
	}
	n, err := s.Rearm(ctx, filter, alive)
	if err != nil {
		return err
	}
	return r.result(rowsResult{"result", "rearmed", n, len(rows) - n},
		fmt.Sprintf("armed %s again%s", count(n, "row"), left(len(rows)-n)), len(rows)-n, len(filter.IDs)-len(rows))
}

type rowsResult struct {
	Type  string `json:"type"` // always "result"
	Verb  string `json:"verb"`
	Moved int    `json:"moved"`
	Left  int    `json:"left"`
}

func left(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("; %d moved meanwhile, or a live relay is at work on them", n)
}

// result prints what was done, and turns less than was asked into an error:
// kept rows, and ids that no row has.
func (r *root) result(line any, text string, kept, missing int) error {
	var err error
	if r.json() {
		err = r.emit(line)
	} else {
		_, err = fmt.Fprintln(r.Stdout, text)
	}
	switch {
	case err != nil:
		return err
	case missing > 0:
		return &incompleteError{fmt.Sprintf("%d of the ids are not there, or not in that state: see holdfast outbox show ID", missing)}
	case kept > 0:
		return &incompleteError{"less was done than was asked"}
	}
	return nil
}
