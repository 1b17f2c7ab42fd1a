package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/triage"
)

// defaultLook is how many messages `parked` looks at. Each has to be fetched
// with its body, so that all of a very long queue is a thing to ask for.
const defaultLook = 1000

func newParked(r *root) *cobra.Command {
	var place placeFlags
	var pick selectFlags
	cmd := &cobra.Command{
		Use:   "parked Q…",
		Short: "List what is parked for one or several queues: why, since when, how often",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("parked needs the name of a queue, or several: AMQP gives nobody a list of them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, queues []string) error {
			selection, err := pick.selection()
			if err != nil {
				return err
			}
			return r.withBroker(cmd.Context(), place.shared, func(b app.Broker) error {
				var errs []error
				for _, q := range queues {
					list := &parkedList{root: r, place: place.place(b, q), selection: selection}
					errs = append(errs, list.run(cmd.Context(), b, &place, pick.limit))
				}
				return errors.Join(errs...)
			})
		},
	}
	place.add(cmd)
	pick.add(cmd, defaultLook, "look at the first `N` messages; 0 looks at all")
	return cmd
}

// parkedList is what is parked for one queue.
type parkedList struct {
	*root
	place     triage.Place
	selection triage.Selection

	depth   broker.Depth
	summary triage.Summary
	table   table
}

func (l *parkedList) run(ctx context.Context, s broker.Sifter, f *placeFlags, look int) error {
	var err error
	if l.depth, err = f.arrive(ctx, l.root, s, l.place); err != nil {
		return err
	}
	l.table = l.columns()
	var outcome triage.Outcome
	if l.depth.Messages > 0 {
		outcome, err = triage.List(ctx, s, l.place,
			triage.ListOptions{Select: l.selection, Look: look, Window: l.depth.Messages}, l.show)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.place.Queue, err)
	}
	if l.json() {
		return l.emit(parkedSummary{
			Type: "summary", Queue: l.place.Queue, Of: l.place.Of, Waiting: l.depth.Messages, Consumers: l.depth.Consumers,
			Outcome: outcome, Summary: l.summary,
		})
	}
	return l.print(outcome)
}

// parkedSummary is the last line of --output json.
type parkedSummary struct {
	Type      string         `json:"type"`
	Queue     string         `json:"queue"`
	Of        string         `json:"of,omitempty"`
	Waiting   int            `json:"waiting"`
	Consumers int            `json:"consumers"`
	Outcome   triage.Outcome `json:"looked_at"`
	triage.Summary
}

func (l *parkedList) show(m *broker.Stored) error {
	l.summary.Add(m)
	if l.json() {
		return l.emit(triage.NewEntry(m, triage.Detail{}))
	}
	e := triage.NewEntry(m, triage.Detail{})
	cells := []string{
		l.id(e), printable(why(e)), number(e.Attempt), strconv.Itoa(e.Lap), strconv.Itoa(e.Crashes),
		age(e.FailedAt, l.Now()), printable(e.Key), firstLine(e.Error),
	}
	if l.wide() {
		cells = slices.Insert(cells, columnFailedAt, stamp(e.FailedAt))
	}
	l.table.add(cells...)
	return nil
}

const (
	columnFailedAt = 5
	columnKey      = 6
)

func (l *parkedList) columns() table {
	t := table{heads: []string{"ID", "REASON", "ATTEMPT", "LAP", "CRASHES", "AGE", "KEY", "ERROR"}, elastic: []int{columnKey}}
	if l.wide() {
		t.heads = slices.Insert(t.heads, columnFailedAt, "FAILED AT")
		t.elastic[0]++
	}
	return t
}

// wide reports whether there is room for the time beside the age.
func (l *parkedList) wide() bool {
	const room = 120
	return !l.StdoutTerminal || l.Width == 0 || l.Width >= room
}

// id is short on a terminal: the first characters do as an id everywhere.
func (l *parkedList) id(e triage.Entry) string {
	const short = 12
	id := e.ID
	if id == "" {
		return printable(orDash(e.MessageID))
	}
	if l.StdoutTerminal && len(id) > short {
		id = id[:short]
	}
	return printable(id)
}

// why is a message's reason in a word, also for those that Holdfast did not
// park.
func why(e triage.Entry) string {
	switch {
	case e.Reason != "":
		return string(e.Reason)
	case e.CaptureError != "":
		return "(bad capture)"
	case e.DeadLettered != "":
		return "(dead: " + e.DeadLettered + ")"
	case e.ID != "":
		return "(held)"
	default:
		return "(foreign)"
	}
}

func (l *parkedList) print(o triage.Outcome) error {
	head := fmt.Sprintf("%s: %d waiting, %s", l.place.Queue, l.depth.Messages, count(l.depth.Consumers, "consumer"))
	if !l.summary.Oldest.IsZero() {
		head += fmt.Sprintf(", oldest failed %s (%s ago)", stamp(l.summary.Oldest), age(l.summary.Oldest, l.Now()))
	}
	fmt.Fprintln(l.Stdout, l.heading(printable(head)))
	if reasons := l.reasons(); reasons != "" {
		fmt.Fprintln(l.Stdout, reasons)
	}
	if note := l.note(o); note != "" {
		fmt.Fprintln(l.Stdout, note)
	}
	if len(l.table.rows) == 0 {
		return nil
	}
	fmt.Fprintln(l.Stdout)
	width := 0
	if l.StdoutTerminal {
		width = l.Width
	}
	return l.table.write(l.Stdout, width, l.heading)
}

func (l *parkedList) reasons() string {
	var parts []string
	add := func(name string, n int) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", name, n))
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(l.summary.Reasons)) {
		add(orText(string(reason), "held"), l.summary.Reasons[reason])
	}
	add("dead-lettered by the broker", l.summary.DeadLettered)
	add("bad capture", l.summary.BadCapture)
	add("foreign", l.summary.Foreign)
	return strings.Join(parts, ", ")
}

// note says what the list leaves out.
func (l *parkedList) note(o triage.Outcome) string {
	var parts []string
	if o.Total < l.depth.Messages {
		parts = append(parts, fmt.Sprintf("looked at the first %d only (--limit 0 looks at all)", o.Total))
	}
	if o.Unmatched > 0 {
		parts = append(parts, fmt.Sprintf("%d do not match", o.Unmatched))
	}
	if o.Elsewhere > 0 {
		parts = append(parts, fmt.Sprintf("%d belong to other queues", o.Elsewhere))
	}
	if o.Unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d do not say whose they are (--from %s shows them)", o.Unknown, l.place.Queue))
	}
	return strings.Join(parts, ", ")
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

func orDash(s string) string { return orText(s, "-") }

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
