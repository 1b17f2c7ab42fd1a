package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/store"
)

// storeFlags say which database, and how its tables are named.
type storeFlags struct {
	url    string
	schema string
	prefix string
}

// add puts the flags on cmd and on all below it.
func (f *storeFlags) add(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.url, "store", "", "database `URL` (postgres://… or sqlite:FILE); default $HOLDFAST_STORE, else $DATABASE_URL (better than the flag, which other users can see)")
	flags.StringVar(&f.schema, "schema", "", "the `SCHEMA` of the tables; default holdfast. SQLite has none")
	flags.StringVar(&f.prefix, "prefix", "", "begins the names of the tables")
}

func (f *storeFlags) config(r *root) (app.StoreConfig, error) {
	url := f.url
	for _, name := range []string{"HOLDFAST_STORE", "DATABASE_URL"} {
		if url == "" {
			url = r.Getenv(name)
		}
	}
	if url == "" {
		return app.StoreConfig{}, usagef("which database? Set HOLDFAST_STORE (or DATABASE_URL) or give --store, as postgres://user:password@host/database or sqlite:FILE")
	}
	return app.StoreConfig{URL: strings.TrimSpace(url), Schema: f.schema, Prefix: f.prefix}, nil
}

// open opens the database for as long as do runs, whatever its tables are.
func (f *storeFlags) open(ctx context.Context, r *root, do func(app.Store) error) error {
	cfg, err := f.config(r)
	if err != nil {
		return err
	}
	s, err := r.OpenStore(ctx, cfg)
	if err != nil {
		return err
	}
	// What a verb did is committed before it returns.
	defer s.Close()
	return do(s)
}

// withTables does the same after it has proven that the tables are as
// expected.
func (f *storeFlags) withTables(ctx context.Context, r *root, do func(app.Store) error) error {
	return f.open(ctx, r, func(s app.Store) error {
		if err := s.Check(ctx); err != nil {
			return err
		}
		return do(s)
	})
}

// rowFlags pick rows of an outbox.
type rowFlags struct {
	state       string
	destination string
	class       string
	event       string
	older       time.Duration
	limit       int
}

func (f *rowFlags) add(cmd *cobra.Command, state, states string) {
	flags := cmd.Flags()
	flags.StringVar(&f.state, "state", state, "only rows in this `STATE`: "+states)
	flags.StringVar(&f.destination, "destination", "", "only rows for this exchange, topic or stream")
	flags.StringVar(&f.class, "class", "", "only rows whose last failure was of this `CLASS`: unrouted, missing, permission, refused, invalid, unknown")
	flags.StringVar(&f.event, "type", "", "only rows of this event `TYPE`")
	flags.DurationVar(&f.older, "older-than", 0, "only rows written longer ago than this `AGE`, as 90s or 2h")
	flags.IntVar(&f.limit, "limit", defaultLook, "at most `N` rows")
}

// classes and states are what the flags take.
var (
	classes = []store.Class{
		store.ClassNone, store.ClassUnrouted, store.ClassMissing, store.ClassPermission, store.ClassRefused, store.ClassInvalid, store.ClassUnknown,
	}
	states = []store.State{"", store.Pending, store.Publishing, store.Published, store.Failed}
)

func (f *rowFlags) filter(ids []string) (store.Filter, error) {
	out := store.Filter{
		IDs: ids, State: store.State(f.state), Destination: f.destination, Class: store.Class(f.class),
		Type: f.event, Before: f.older, Limit: f.limit,
	}
	if f.state == "all" {
		out.State = ""
	}
	switch {
	case !slices.Contains(states, out.State):
		return out, usagef("--state is pending, publishing, published, failed or all, not %q", f.state)
	case !slices.Contains(classes, out.Class):
		return out, usagef("--class is unrouted, missing, permission, refused, invalid or unknown, not %q", f.class)
	case f.limit < 1:
		return out, usagef("--limit is a number of rows, not %d", f.limit)
	case f.older < 0:
		return out, usagef("--older-than is an age, not %v", f.older)
	}
	return out, nil
}

// narrow reports whether anything but the state picks.
func (f *rowFlags) narrow() bool {
	return f.destination != "" || f.class != "" || f.event != "" || f.older > 0
}
