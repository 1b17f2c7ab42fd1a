package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/store"
)

type pruneFlags struct {
	older   time.Duration
	batch   int
	archive string
}

const (
	defaultKeep  = 7 * 24 * time.Hour
	defaultBatch = 1000
)

func newOutboxPrune(r *root, db *storeFlags) *cobra.Command {
	var f pruneFlags
	cmd := &cobra.Command{
		Use:     "prune",
		Short:   "Remove rows that were published long ago, in batches; --archive keeps a copy of each",
		Example: "  holdfast outbox prune --older-than 720h --archive outbox.jsonl",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.older < 0:
				return usagef("--older-than is an age, not %v", f.older)
			case f.batch < 1:
				return usagef("--batch is a number of rows, not %d", f.batch)
			}
			return db.withTables(cmd.Context(), r, func(s app.Store) error { return f.run(cmd.Context(), r, s) })
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.older, "older-than", defaultKeep, "published longer ago than this `AGE`")
	flags.IntVar(&f.batch, "batch", defaultBatch, "remove `N` rows in one transaction")
	flags.StringVar(&f.archive, "archive", "", "first write each row as a JSON line to this new `FILE`; one that exists is never overwritten")
	return cmd
}

func (f *pruneFlags) run(ctx context.Context, r *root, s store.Outbox) error {
	var keep func([]store.Row) error
	if f.archive != "" {
		out, err := createFile(f.archive)
		if err != nil {
			return err
		}
		defer func() { _ = out.Close() }() // every batch was synced
		keep = func(rows []store.Row) error { return writeRows(out, rows) }
	}
	total := 0
	for {
		n, err := s.Prune(ctx, f.older, f.batch, keep)
		total += n
		if err != nil {
			r.say("removed %s before this:", count(total, "row"))
			return err
		}
		if n < f.batch {
			return r.result(rowsResult{"result", "pruned", total, 0}, fmt.Sprintf("removed %s", count(total, "published row")), 0, 0)
		}
	}
}

// writeRows returns when the rows are on disk: they are removed next.
func writeRows(out *os.File, rows []store.Row) error {
	w := bufio.NewWriter(out)
	lines := json.NewEncoder(w)
	for _, row := range rows {
		if err := lines.Encode(newRowLine(row)); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return out.Sync()
}
