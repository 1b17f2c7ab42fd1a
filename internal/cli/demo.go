package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/internal/demo"
	"github.com/holdfast-mq/holdfast/internal/embedded"
)

type demoFlags struct {
	orders int
	dir    string
	json   bool
	keep   bool
}

func newDemo(r *root) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the main job on a broker inside this process, with nothing to install",
		Long: "Demo starts a NATS JetStream server inside this process, sends a few hundred orders to a\n" +
			"sample service, and shows what becomes of them: some fail twice, billing is down for some\n" +
			"seconds, some are malformed, and some meet a bug, which is then fixed and its orders are\n" +
			"replayed. It ends with the books, and with exit code 0 only if they balance and no order\n" +
			"was lost. Killed at any moment and started again with the same --dir, it goes on.",
		Example: "  holdfast demo\n  holdfast demo --keep\n  holdfast demo --json --dir /tmp/shop",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.json = f.json || r.json()
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), r)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.orders, "orders", 0, fmt.Sprintf("how many `N` orders: 1 to %d; default %d, or what an earlier run began with", demo.MaxOrders, demo.DefaultOrders))
	flags.StringVar(&f.dir, "dir", "", "keep everything in this `FOLDER`, and go on with what an earlier run has left there; default a temporary one")
	flags.BoolVar(&f.json, "json", false, "print one object at the end and nothing else")
	flags.BoolVar(&f.keep, "keep", false, "go on running after the end, with a listener on loopback for the other commands, until ctrl-C")
	return cmd
}

func (f *demoFlags) check(cmd *cobra.Command) error {
	flags := cmd.Flags()
	for _, name := range []string{"broker", "namespace"} {
		if flags.Changed(name) {
			return usagef("demo brings its own broker: leave --%s out", name)
		}
	}
	if flags.Changed("orders") && (f.orders < 1 || f.orders > demo.MaxOrders) {
		return usagef("--orders is 1 to %d, not %d", demo.MaxOrders, f.orders)
	}
	return nil
}

func (f *demoFlags) run(ctx context.Context, r *root) (err error) {
	dir, remove, err := f.folder()
	if err != nil {
		return err
	}
	defer remove()
	stage, err := f.open(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	show := &demoShow{root: r, flags: f, stage: stage, dir: dir}
	play, err := demo.New(stage, show.config())
	if err != nil {
		return &usageError{err}
	}
	defer func() { err = errors.Join(err, play.Close()) }()
	return show.run(ctx, play)
}

// folder makes the folder, and says how to remove it if it is a temporary one.
func (f *demoFlags) folder() (dir string, remove func(), err error) {
	if f.dir != "" {
		// Absolute, since it is printed for terminals that stand elsewhere.
		if dir, err = filepath.Abs(f.dir); err != nil {
			return "", nil, err
		}
		return dir, func() {}, os.MkdirAll(dir, 0o700)
	}
	dir, err = os.MkdirTemp("", "holdfast-demo-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

func (f *demoFlags) open(ctx context.Context, dir string) (*demo.Embedded, error) {
	listen := ""
	if f.keep {
		listen = "127.0.0.1:0"
	}
	stage, err := demo.OpenEmbedded(ctx, dir, listen)
	if errors.Is(err, embedded.ErrInUse) {
		return nil, &usageError{err}
	}
	return stage, err
}
