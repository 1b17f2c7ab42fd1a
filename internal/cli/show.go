package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/triage"
)

func newShow(r *root) *cobra.Command {
	var place placeFlags
	var body bool
	cmd := &cobra.Command{
		Use:   "show Q ID",
		Short: "Show everything of one message; ID is its id, the first 8 characters of it, its message id, or '#1'",
		Args:  queueAndID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withBroker(cmd.Context(), place.shared, func(b app.Broker) error {
				p := place.place(b, args[0])
				if _, err := place.arrive(cmd.Context(), r, b, p); err != nil {
					return err
				}
				m, err := triage.Find(cmd.Context(), b, p, args[1])
				if err != nil {
					return err
				}
				if body {
					_, err := r.Stdout.Write(m.Message.Body)
					return err
				}
				return r.showOne(m, triage.Detail{Headers: true, Body: true, Text: true}, false)
			})
		},
	}
	place.add(cmd)
	cmd.Flags().BoolVar(&body, "body", false, "write the body alone, byte for byte")
	return cmd
}

// showOne prints one message in the form that was asked.
func (r *root) showOne(m *broker.Stored, show triage.Detail, another bool) error {
	e := triage.NewEntry(m, show)
	if r.json() {
		return r.emit(e)
	}
	if another {
		fmt.Fprintln(r.Stdout)
	}
	v := view{w: r.Stdout}
	head := fmt.Sprintf("#%d %s %s", e.Position, orDash(e.ID), why(e))
	fmt.Fprintln(v.w, r.heading(printable(head)))
	r.describe(&v, e)
	if show.Headers {
		v.headers(m.Message.Headers)
	}
	v.body(e, show)
	return nil
}

func (r *root) describe(v *view, e triage.Entry) {
	if e.ID != "" {
		v.field("counts", fmt.Sprintf("attempt %d, lap %d, crashes %d", e.Attempt, e.Lap, e.Crashes))
	}
	if !e.FailedAt.IsZero() {
		v.field("failed", fmt.Sprintf("%s (%s ago)", stamp(e.FailedAt), age(e.FailedAt, r.Now())))
	}
	if !e.FirstFailedAt.IsZero() && !e.FirstFailedAt.Equal(e.FailedAt) {
		v.field("first", stamp(e.FirstFailedAt))
	}
	if !e.NotBefore.IsZero() {
		v.field("not before", stamp(e.NotBefore))
	}
	v.field("host", e.Host)
	v.origin(e)
	v.lines("error", e.Error)
	v.lines("cause", e.Cause)
	v.field("capture", e.CaptureError)
	for _, d := range e.Deaths {
		v.field("death", fmt.Sprintf("%s from queue %q, %d times, last %s; exchange %q key %q",
			d.Reason, d.Queue, d.Count, stamp(d.Time), d.Exchange, strings.Join(d.Keys, ", ")))
	}
	if e.Replays > 0 {
		v.field("replayed", fmt.Sprintf("%s, last as %s", count(int(e.Replays), "time"), orDash(e.ReplayID)))
	}
	v.field("message id", e.MessageID)
	v.field("reply to", e.ReplyTo)
	v.field("correlation", e.CorrelationID)
	v.field("type", e.MessageType)
	v.field("app", e.AppID)
	if !e.Timestamp.IsZero() {
		v.field("published", stamp(e.Timestamp))
	}
}

// view writes the lines of one message.
type view struct{ w io.Writer }

func (v *view) field(name, value string) {
	if value != "" {
		fmt.Fprintf(v.w, "  %-12s %s\n", name, printable(value))
	}
}

func (v *view) lines(name, text string) {
	if text == "" {
		return
	}
	first, rest, many := strings.Cut(text, "\n")
	v.field(name, strings.TrimRight(first, "\r"))
	if many {
		fmt.Fprint(v.w, printableBody([]byte(rest), strings.Repeat(" ", 15)))
	}
}

func (v *view) origin(e triage.Entry) {
	text := fmt.Sprintf("exchange %q key %q", e.Exchange, e.Key)
	if e.OriginKnown {
		text += fmt.Sprintf(" queue %q", e.OriginQueue)
	} else {
		text += " (as it came here: nothing says where it was first published)"
	}
	v.field("origin", text)
}

func (v *view) headers(headers map[string]any) {
	if len(headers) == 0 {
		return
	}
	fmt.Fprintln(v.w, "  headers")
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		fmt.Fprintf(v.w, "    %s: %s\n", printable(name), printable(triage.Text(headers[name])))
	}
}

func (v *view) body(e triage.Entry, show triage.Detail) {
	if !show.Body {
		return
	}
	about := []string{count(e.Size, "byte")}
	for _, s := range []string{e.ContentType, e.ContentEncoding} {
		if s != "" {
			about = append(about, s)
		}
	}
	if e.BodyCut {
		about = append(about, fmt.Sprintf("the first %d here", len(e.Body)))
	}
	v.field("body", strings.Join(about, ", "))
	fmt.Fprint(v.w, printableBody(bodyOf(e), "    "))
}

// bodyOf prefers the text, which ends on a whole character.
func bodyOf(e triage.Entry) []byte {
	if e.BodyText != "" {
		return []byte(e.BodyText)
	}
	return e.Body
}
