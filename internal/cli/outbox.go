package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/store"
)

func newOutbox(r *root) *cobra.Command {
	var f storeFlags
	cmd := &cobra.Command{
		Use:   "outbox",
		Short: "Look at an outbox: what waits, what is stuck, what failed; arm rows again, remove published ones",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f.add(cmd)
	cmd.AddCommand(newOutboxStatus(r, &f), newOutboxList(r, &f), newOutboxStuck(r, &f), newOutboxShow(r, &f), newOutboxRearm(r, &f), newOutboxPrune(r, &f))
	return cmd
}

func newOutboxStatus(r *root, f *storeFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Count the rows per state and destination, with the oldest of each, the relays, and who holds rows back",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.withTables(cmd.Context(), r, func(s app.Store) error {
				status, err := s.Status(cmd.Context())
				if err != nil {
					return err
				}
				if r.json() {
					return r.emitStatus(status)
				}
				return r.printStatus(status)
			})
		},
	}
}

// The lines of --output json.
type groupLine struct {
	Type          string      `json:"type"` // always "group"
	State         store.State `json:"state"`
	Destination   string      `json:"destination"`
	Class         store.Class `json:"class,omitempty"`
	Count         int         `json:"count"`
	OldestSeconds float64     `json:"oldest_seconds"`
}

type relayLine struct {
	Type     string    `json:"type"` // always "relay"
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Lanes    int       `json:"lanes"`
	Idle     bool      `json:"idle"`
	Settings string    `json:"settings"`
	SeenAt   time.Time `json:"seen_at"`
}

type blockerLine struct {
	Type        string  `json:"type"` // always "blocker"
	PID         int     `json:"pid"`
	User        string  `json:"user"`
	Application string  `json:"application"`
	State       string  `json:"state"`
	AgeSeconds  float64 `json:"age_seconds"`
	Query       string  `json:"query"`
}

func (r *root) emitStatus(status store.Status) error {
	var errs []error
	for _, g := range status.Groups {
		errs = append(errs, r.emit(groupLine{"group", g.State, g.Destination, g.Class, g.Count, g.Oldest.Seconds()}))
	}
	lanes := lanesOf(status.Standing)
	for _, l := range status.Relays {
		errs = append(errs, r.emit(relayLine{"relay", l.ID, l.Name, lanes[l.ID], l.Idle, l.Settings, l.SeenAt.UTC()}))
	}
	for _, b := range status.Blockers {
		errs = append(errs, r.emit(blockerLine{"blocker", b.PID, b.User, b.Application, b.State, b.Age.Seconds(), b.Query}))
	}
	return errors.Join(errs...)
}

func lanesOf(s store.Standing) map[string]int {
	lanes := map[string]int{}
	for _, l := range s.Leases {
		lanes[l.Relay]++
	}
	return lanes
}

func (r *root) printStatus(status store.Status) error {
	t := table{heads: []string{"STATE", "DESTINATION", "LAST FAILURE", "ROWS", "OLDEST"}, elastic: []int{1}}
	for _, g := range status.Groups {
		t.add(printable(string(g.State)), printable(orDash(g.Destination)), printable(orDash(string(g.Class))), strconv.Itoa(g.Count), span(g.Oldest))
	}
	if len(t.rows) == 0 {
		fmt.Fprintln(r.Stdout, "the outbox is empty")
	} else if err := r.tabulate(&t); err != nil {
		return err
	}
	r.printRelays(status.Standing)
	for _, b := range status.Blockers {
		fmt.Fprintf(r.Stdout, "held back by pid %d (%s, %s), %s for %s: %s\n", b.PID, printable(orDash(b.User)), printable(orDash(b.Application)),
			printable(b.State), span(b.Age), firstLine(b.Query))
	}
	return nil
}

func (r *root) printRelays(s store.Standing) {
	fmt.Fprintln(r.Stdout)
	if len(s.Relays) == 0 {
		fmt.Fprintln(r.Stdout, "no relay: nothing is published")
	}
	lanes, settings := lanesOf(s), map[string]bool{}
	for _, l := range s.Relays {
		settings[l.Settings] = true
		state := "at work"
		if l.Idle {
			state = "idle"
		}
		fmt.Fprintf(r.Stdout, "relay %s: %s of %d lanes, %s, seen %s ago\n", printable(orText(l.Name, l.ID)), strconv.Itoa(lanes[l.ID]), store.Lanes, state, age(l.SeenAt, r.Now()))
	}
	if len(settings) > 1 {
		r.warn("the relays disagree in their settings (--output json shows them)")
	}
}

// tabulate prints a table as wide as the terminal.
func (r *root) tabulate(t *table) error {
	width := 0
	if r.StdoutTerminal {
		width = r.Width
	}
	return t.write(r.Stdout, width, r.heading)
}

// span is a length of time in one unit.
func span(d time.Duration) string {
	now := time.Unix(0, 0)
	return age(now.Add(-d), now)
}

func newOutboxList(r *root, f *storeFlags) *cobra.Command {
	var pick rowFlags
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List rows in the order in which they are published; those that failed, unless --state says otherwise",
		Example: "  holdfast outbox list --class unrouted\n  holdfast outbox list --state pending --destination shop",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := pick.filter(nil)
			if err != nil {
				return err
			}
			return f.withTables(cmd.Context(), r, func(s app.Store) error {
				rows, err := s.List(cmd.Context(), filter)
				if err != nil {
					return err
				}
				if err := r.showRows(rows); err != nil {
					return err
				}
				if len(rows) == pick.limit {
					r.say("these are the first %d only: see --limit", pick.limit)
				}
				return nil
			})
		},
	}
	pick.add(cmd, string(store.Failed), "pending, publishing, published, failed or all")
	return cmd
}

func newOutboxStuck(r *root, f *storeFlags) *cobra.Command {
	var older, watch time.Duration
	var limit int
	cmd := &cobra.Command{
		Use:   "stuck",
		Short: "List rows that a relay has claimed and will not finish: they may or may not have been published",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return f.withTables(ctx, r, func(s app.Store) error {
				alive, err := r.alive(ctx, s, watch)
				if err != nil {
					return err
				}
				rows, total, err := s.Stuck(ctx, older, alive, limit)
				if err != nil {
					return err
				}
				if err := r.showRows(rows); err != nil {
					return err
				}
				r.say("%s being published now or stuck; %d stuck for over %s shown", count(total, "row"), len(rows), older)
				return nil
			})
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&older, "older-than", time.Minute, "claimed longer ago than this `AGE`")
	flags.IntVar(&limit, "limit", defaultLook, "at most `N` rows")
	addWatch(cmd, &watch)
	return cmd
}

// defaultWatch is longer than a relay takes from one beat to the next with the
// lease it has by default.
const defaultWatch = 12 * time.Second

func addWatch(cmd *cobra.Command, watch *time.Duration) {
	cmd.Flags().DurationVar(watch, "watch", defaultWatch, "how long to watch whether the relays are alive: longer than a third of their lease")
}

// alive watches which relays beat. No clock is asked, since that of the
// database may be wrong; without relays there is nothing to wait for.
func (r *root) alive(ctx context.Context, s store.Outbox, watch time.Duration) ([]string, error) {
	before, err := s.Status(ctx)
	if err != nil || len(before.Relays) == 0 {
		return nil, err
	}
	if watch <= 0 {
		return nil, usagef("--watch is how long to look at the relays, not %v", watch)
	}
	r.say("watching for %v which relays are alive", watch)
	beats := map[string]int64{}
	for _, l := range before.Relays {
		beats[l.ID] = l.Beat
	}
	select {
	case <-time.After(watch):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	after, err := s.Status(ctx)
	if err != nil {
		return nil, err
	}
	var alive []string
	for _, l := range after.Relays {
		if beat, seen := beats[l.ID]; !seen || beat != l.Beat {
			alive = append(alive, l.ID)
		}
	}
	return alive, nil
}

func newOutboxShow(r *root, f *storeFlags) *cobra.Command {
	var body bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show everything of one row",
		Args:  oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.withTables(cmd.Context(), r, func(s app.Store) error {
				row, err := s.Row(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if body {
					_, err := r.Stdout.Write(row.Payload)
					return err
				}
				return r.showRow(row)
			})
		},
	}
	cmd.Flags().BoolVar(&body, "body", false, "write the payload alone, byte for byte")
	return cmd
}

func oneID(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("this needs one id, as 'list' shows it")
	}
	return nil
}
