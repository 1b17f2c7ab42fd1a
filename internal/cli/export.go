package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/triage"
)

type exportFlags struct {
	place  placeFlags
	pick   selectFlags
	file   string
	remove bool
}

func newExport(r *root) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export Q",
		Short: "Write parked messages as JSON lines, whole: typed headers, body in base64",
		Args:  oneQueue,
		RunE: func(cmd *cobra.Command, args []string) error {
			selection, err := f.pick.selection()
			if err != nil {
				return err
			}
			if f.remove && f.file == "" {
				return usagef("--remove needs --file: what is removed must be on disk first")
			}
			return r.withBroker(cmd.Context(), f.place.shared, func(b app.Broker) error {
				p := f.place.place(b, args[0])
				depth, err := f.place.arrive(cmd.Context(), r, b, p)
				if err != nil {
					return err
				}
				bounds := triage.Bounds{Select: selection, Limit: f.pick.limit, Window: depth.Messages}
				return f.run(cmd.Context(), r, b, p, bounds)
			})
		},
	}
	f.place.add(cmd)
	f.pick.add(cmd, 0, "export at most `N` messages; 0 exports all")
	cmd.Flags().StringVar(&f.file, "file", "", "write to this new `FILE` and not to stdout; a file that exists is never overwritten")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "remove each message once its line is safely on disk")
	return cmd
}

func (f *exportFlags) run(ctx context.Context, r *root, s broker.Sifter, p triage.Place, b triage.Bounds) error {
	if b.Window == 0 {
		return r.nothing(p, nil)
	}
	goal, err := countMatching(ctx, s, p, b)
	if err != nil {
		return err
	}
	if f.remove {
		r.say("%s: writing %d of %d waiting messages to %s and removing them", p.Queue, goal, b.Window, f.file)
		if err := r.confirm(ctx, "Export and remove %s?", count(goal, "message")); err != nil {
			return err
		}
	}
	if f.file == "" {
		// Nothing but a Writer: a pipe cannot be synced.
		outcome, err := triage.Export(ctx, s, p, b, struct{ io.Writer }{r.Stdout}, false)
		r.say("exported %s", count(outcome.Moved, "message"))
		return err
	}
	v := moving{root: r, done: "exported"}
	out, err := createFile(f.file)
	if err != nil {
		return err
	}
	outcome, err := triage.Export(ctx, s, p, v.bounds(b, goal), out, f.remove)
	return v.finish(outcome, errors.Join(err, out.Close()))
}

// createFile makes a new file that only its owner may read, and makes its name
// durable, too: what will be removed must be found again after a power cut.
func createFile(path string) (*os.File, error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, usagef("%s exists: give another name", path)
	case err != nil:
		return nil, &usageError{err}
	}
	dir, err := os.Open(filepath.Dir(path))
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	if err != nil {
		return nil, errors.Join(err, out.Close(), os.Remove(path))
	}
	return out, nil
}
