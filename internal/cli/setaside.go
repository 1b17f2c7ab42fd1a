package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/internal/typed"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/triage"
)

func newSetAside(r *root) *cobra.Command {
	var f storeFlags
	cmd := &cobra.Command{
		Use:   "setaside",
		Short: "Look at valid messages that could not be applied when they came, and give them back to work",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return asideReasons(cmd.Context(), r, &f) },
	}
	f.add(cmd)
	cmd.AddCommand(newAsideReasons(r, &f), newAsideList(r, &f), newAsideShow(r, &f), newAsideRedrive(r, &f), newAsideDrop(r, &f))
	return cmd
}

func newAsideReasons(r *root, f *storeFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "reasons",
		Short: "Count them by consumer, reason and type; this is what setaside alone does, too",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return asideReasons(cmd.Context(), r, f) },
	}
}

type asideGroupLine struct {
	Type          string  `json:"type"` // always "group"
	Consumer      string  `json:"consumer"`
	Reason        string  `json:"reason"`
	MessageType   string  `json:"message_type,omitempty"`
	Count         int     `json:"count"`
	OldestSeconds float64 `json:"oldest_seconds"`
	NewestSeconds float64 `json:"newest_seconds"`
}

func asideReasons(ctx context.Context, r *root, f *storeFlags) error {
	return f.withTables(ctx, r, func(s app.Store) error {
		groups, err := s.AsideReasons(ctx)
		if err != nil {
			return err
		}
		t := table{heads: []string{"CONSUMER", "REASON", "TYPE", "MESSAGES", "OLDEST", "NEWEST"}, elastic: []int{0, 2}}
		for _, g := range groups {
			if r.json() {
				if err := r.emit(asideGroupLine{"group", g.Consumer, g.Reason, g.Type, g.Count, g.Oldest.Seconds(), g.Newest.Seconds()}); err != nil {
					return err
				}
				continue
			}
			t.add(printable(g.Consumer), printable(g.Reason), printable(orDash(g.Type)), strconv.Itoa(g.Count), span(g.Oldest), span(g.Newest))
		}
		switch {
		case r.json():
			return nil
		case len(t.rows) == 0:
			r.say("nothing is set aside")
			return nil
		}
		return r.tabulate(&t)
	})
}

// asideFlags pick messages that were set aside.
type asideFlags struct {
	store.AsideFilter
}

func (f *asideFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Consumer, "consumer", "", "only what this consumer set aside")
	flags.StringVar(&f.Reason, "reason", "", "only for this `REASON`")
	flags.StringVar(&f.Type, "type", "", "only messages of this `TYPE`")
	flags.DurationVar(&f.Before, "older-than", 0, "only what was set aside longer ago than this `AGE`")
	flags.IntVar(&f.Limit, "limit", defaultLook, "at most `N` messages, oldest first")
}

func (f *asideFlags) filter(ids []string) (store.AsideFilter, error) {
	out := f.AsideFilter
	out.IDs = ids
	switch {
	case f.Limit < 1:
		return out, usagef("--limit is a number of messages, not %d", f.Limit)
	case f.Before < 0:
		return out, usagef("--older-than is an age, not %v", f.Before)
	}
	return out, nil
}

func (f *asideFlags) narrow() bool {
	return f.Consumer != "" || f.Reason != "" || f.Type != "" || f.Before > 0
}

// asideLine is a message that was set aside, as --output json shows it.
type asideLine struct {
	Type        string                 `json:"type"` // always "aside"
	ID          string                 `json:"id"`
	Consumer    string                 `json:"consumer"`
	Queue       string                 `json:"queue"`
	Reason      string                 `json:"reason"`
	Note        string                 `json:"note,omitempty"`
	At          time.Time              `json:"at"`
	MessageID   string                 `json:"message_id,omitempty"`
	Exchange    string                 `json:"exchange,omitempty"`
	Key         string                 `json:"key,omitempty"`
	MessageType string                 `json:"message_type,omitempty"`
	ContentType string                 `json:"content_type,omitempty"`
	Redrives    int                    `json:"redrives,omitempty"`
	RedrivenAt  *time.Time             `json:"redriven_at,omitempty"`
	Headers     map[string]typed.Value `json:"headers,omitempty"`
	Payload     []byte                 `json:"payload,omitempty"`
	PayloadText string                 `json:"payload_text,omitempty"`
}

func newAsideLine(a store.Aside) asideLine {
	line := asideLine{
		Type: "aside", ID: a.ID, Consumer: a.Consumer, Queue: a.Queue, Reason: a.Reason, Note: a.Note, At: a.At.UTC(),
		MessageID: a.MessageID, Exchange: a.Exchange, Key: a.Key, MessageType: a.Type, ContentType: a.ContentType,
		Redrives: a.Redrives, RedrivenAt: optional(a.RedrivenAt), Payload: a.Payload,
	}
	if headers, err := typed.Unmarshal(a.Headers); err == nil {
		line.Headers = typed.Table(headers)
	}
	if utf8.Valid(a.Payload) {
		line.PayloadText = string(a.Payload)
	}
	return line
}

func newAsideList(r *root, f *storeFlags) *cobra.Command {
	var pick asideFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List them, oldest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := pick.filter(nil)
			if err != nil {
				return err
			}
			return f.withTables(cmd.Context(), r, func(s app.Store) error {
				rows, err := s.Asides(cmd.Context(), filter)
				if err != nil {
					return err
				}
				return r.showAsides(rows)
			})
		},
	}
	pick.add(cmd)
	return cmd
}

func (r *root) showAsides(rows []store.Aside) error {
	t := table{heads: []string{"ID", "CONSUMER", "REASON", "AGE", "TYPE", "MESSAGE", "NOTE"}, elastic: []int{1, 4, 5}}
	for _, a := range rows {
		if r.json() {
			if err := r.emit(newAsideLine(a)); err != nil {
				return err
			}
			continue
		}
		t.add(a.ID, printable(a.Consumer), printable(a.Reason), age(a.At, r.Now()), printable(orDash(a.Type)), printable(orDash(a.MessageID)), firstLine(a.Note))
	}
	if len(t.rows) == 0 {
		return nil
	}
	return r.tabulate(&t)
}

func newAsideShow(r *root, f *storeFlags) *cobra.Command {
	var body bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show everything of one message",
		Args:  oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.withTables(cmd.Context(), r, func(s app.Store) error {
				a, err := s.Aside(cmd.Context(), args[0])
				switch {
				case err != nil:
					return err
				case body:
					_, err := r.Stdout.Write(a.Payload)
					return err
				case r.json():
					return r.emit(newAsideLine(a))
				}
				return r.showAside(a)
			})
		},
	}
	cmd.Flags().BoolVar(&body, "body", false, "write the payload alone, byte for byte")
	return cmd
}

func (r *root) showAside(a store.Aside) error {
	v := view{w: r.Stdout}
	fmt.Fprintln(v.w, r.heading(printable(fmt.Sprintf("%s %s", a.ID, a.Reason))))
	v.field("consumer", a.Consumer)
	v.field("queue", a.Queue)
	v.lines("note", a.Note)
	v.when(r, "set aside", a.At)
	v.when(r, "redriven", a.RedrivenAt)
	v.field("origin", fmt.Sprintf("exchange %q key %q", a.Exchange, a.Key))
	v.field("message id", a.MessageID)
	v.field("correlation", a.CorrelationID)
	v.field("type", a.Type)
	headers, err := typed.Unmarshal(a.Headers)
	if err != nil {
		v.field("headers", err.Error())
	}
	if len(headers) > 0 {
		fmt.Fprintln(v.w, "  headers")
		for _, name := range slices.Sorted(maps.Keys(headers)) {
			fmt.Fprintf(v.w, "    %s: %s\n", printable(name), printable(triage.Text(headers[name])))
		}
	}
	v.field("payload", orText(a.ContentType, "of no declared type")+", "+count(len(a.Payload), "byte"))
	fmt.Fprint(v.w, printableBody(a.Payload, "    "))
	return nil
}

type redriveFlags struct {
	pick    asideFlags
	toQueue string
	all     bool
	dryRun  bool
}

func newAsideRedrive(r *root, db *storeFlags) *cobra.Command {
	var f redriveFlags
	cmd := &cobra.Command{
		Use:   "redrive [ID…]",
		Short: "Give messages back to the queue they came from, and remove each row once its copy is safe",
		Long: "Redrive publishes messages that were set aside to the queue they came from (or to --to-queue)\n" +
			"and removes each row after its copy was confirmed and routed. Ended at any point, also by\n" +
			"kill -9, a message is there, or here, or (marked with the replay's id) in both. Running it\n" +
			"again goes on. Do it when what the message waited for has come: it is set aside again otherwise.",
		Example: "  holdfast setaside redrive 0198c7d2-5f0e-7b7a-9f0a-3c2f0b1d4e5f\n  holdfast setaside redrive --consumer billing --reason invalid_state",
		RunE: func(cmd *cobra.Command, ids []string) error {
			filter, err := f.filter(ids)
			if err != nil {
				return err
			}
			return db.withTables(cmd.Context(), r, func(s app.Store) error { return f.run(cmd.Context(), r, s, filter) })
		},
	}
	f.pick.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.toQueue, "to-queue", "", "send to this `QUEUE`, whatever the rows say")
	flags.BoolVar(&f.all, "all", false, "all of them: without it, name ids or a filter")
	flags.BoolVar(&f.dryRun, "dry-run", false, "list what would be given back and change nothing")
	return cmd
}

func (f *redriveFlags) filter(ids []string) (store.AsideFilter, error) {
	filter, err := f.pick.filter(ids)
	if err == nil && len(ids) == 0 && !f.pick.narrow() && !f.all {
		err = usagef("which messages? Name their ids, give a filter (--consumer, --reason, --type, --older-than), or --all")
	}
	return filter, err
}

func (f *redriveFlags) run(ctx context.Context, r *root, s store.SetAsides, filter store.AsideFilter) error {
	rows, err := s.Asides(ctx, filter)
	if err != nil {
		return err
	}
	if f.dryRun {
		if err := r.showAsides(rows); err != nil {
			return err
		}
		r.say("dry run: would give back %s", count(len(rows), "message"))
		return nil
	}
	if len(rows) > 0 {
		if err := r.confirm(ctx, "Give %s back to work?", count(len(rows), "message")); err != nil {
			return err
		}
	}
	return r.withBroker(ctx, false, func(b app.Broker) error {
		if len(rows) == filter.Limit {
			r.say("these are the first %d only: see --limit, or run it again", filter.Limit)
		}
		id, done, err := triage.Redrive(ctx, s, b, triage.RedriveOptions{AsideFilter: filter, Queue: f.toQueue})
		printed := r.result(redriveResult{"result", "redriven", id, done},
			fmt.Sprintf("gave back %d of %s; replay id %s", done.Moved, count(done.Total, "message"), id), done.Gone, len(filter.IDs)-done.Total)
		if err != nil {
			return err
		}
		return printed
	})
}

type redriveResult struct {
	Type     string `json:"type"` // always "result"
	Verb     string `json:"verb"`
	ReplayID string `json:"replay_id"`
	triage.Redriven
}

func newAsideDrop(r *root, f *storeFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "drop ID…",
		Short: "Remove messages for good; show --output json keeps a copy",
		Args: func(_ *cobra.Command, ids []string) error {
			if len(ids) == 0 {
				return errors.New("drop needs the ids of messages, as 'list' shows them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, ids []string) error {
			ctx := cmd.Context()
			return f.withTables(ctx, r, func(s app.Store) error {
				if !r.yes && !r.StdinTerminal {
					return usagef("nothing was removed: without a terminal to ask on, give --yes")
				}
				if err := r.confirm(ctx, "Remove %s for good? There is no way back.", count(len(ids), "message")); err != nil {
					return err
				}
				n := 0
				for _, id := range ids {
					dropped, err := s.DropAside(ctx, id)
					if err != nil {
						return err
					}
					if dropped {
						n++
					}
				}
				return r.result(rowsResult{"result", "dropped", n, len(ids) - n}, fmt.Sprintf("removed %s", count(n, "message")), 0, len(ids)-n)
			})
		},
	}
}
