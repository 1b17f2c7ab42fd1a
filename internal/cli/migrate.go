package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/store"
)

type migrateFlags struct {
	store storeFlags
	print bool
	down  bool
	check bool
}

func newMigrate(r *root) *cobra.Command {
	var f migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Make the tables of the outbox, the inbox and the set-aside, or bring them up to date",
		Long: "Migrate makes the tables in a schema (PostgreSQL) or under a prefix, and brings older ones\n" +
			"up to date. Several processes may do so at once: it is done once. --print writes the SQL\n" +
			"instead, for a migration tool of your own, and needs no database.",
		Example: "  holdfast migrate\n  holdfast migrate --print --store postgres: --schema billing_outbox > 0042_outbox.sql\n  holdfast migrate --check",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.print {
				return f.script(r)
			}
			return f.store.open(cmd.Context(), r, func(s app.Store) error { return f.run(cmd.Context(), r, s) })
		},
	}
	f.store.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.print, "print", false, "write the SQL to stdout and change nothing")
	flags.BoolVar(&f.down, "down", false, "remove the tables, with all that is in them")
	flags.BoolVar(&f.check, "check", false, "say whether the tables are as this version expects, and change nothing")
	cmd.MarkFlagsMutuallyExclusive("print", "check")
	cmd.MarkFlagsMutuallyExclusive("down", "check")
	return cmd
}

func (f *migrateFlags) script(r *root) error {
	cfg, err := f.store.config(r)
	if err != nil {
		return err
	}
	text, err := app.StoreScript(cfg, f.down)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(r.Stdout, text)
	return err
}

func (f *migrateFlags) run(ctx context.Context, r *root, s app.Store) error {
	switch {
	case f.down:
		return f.remove(ctx, r, s)
	case !f.check:
		if err := s.Migrate(ctx); err != nil {
			return err
		}
	}
	if err := s.Check(ctx); err != nil {
		return err
	}
	r.say("the tables are as this version expects")
	return nil
}

// remove asks first, and says what would be lost.
func (f *migrateFlags) remove(ctx context.Context, r *root, s app.Store) error {
	lost, err := unpublished(ctx, s)
	switch {
	case is(err, store.ErrSchema):
		r.warn("what is in the tables cannot be read: %v", err)
	case err != nil:
		return err
	case lost > 0:
		r.warn("%s of the outbox were never published and would be lost", count(lost, "row"))
	}
	if !r.yes && !r.StdinTerminal {
		return usagef("nothing was removed: without a terminal to ask on, give --yes")
	}
	if err := r.confirm(ctx, "Remove the tables, with all that is in them? There is no way back."); err != nil {
		return err
	}
	if err := s.Rollback(ctx); err != nil {
		return err
	}
	r.say("the tables are gone")
	return nil
}

func unpublished(ctx context.Context, s store.Outbox) (int, error) {
	if err := s.Check(ctx); err != nil {
		return 0, err
	}
	status, err := s.Status(ctx)
	n := 0
	for _, g := range status.Groups {
		if g.State != store.Published {
			n += g.Count
		}
	}
	return n, err
}
