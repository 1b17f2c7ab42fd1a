package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/triage"
)

// moving is what the verbs have in common that take messages away from where
// they wait: they count first, ask, show how far they are, and say what they
// did, in every case.
type moving struct {
	*root
	done string // what happened to a message: "replayed"
	id   string // of a replay

	refusals int
	progress *progress
}

// maxRefusals is how many refused messages are listed for people. Machines get
// all of them.
const maxRefusals = 10

// bounds completes b with what shows the way.
func (v *moving) bounds(b triage.Bounds, goal int) triage.Bounds {
	v.progress = v.newProgress(v.done, goal)
	b.Moved, b.Refused = v.progress.moved, v.refused
	return b
}

// refusalLine is one refused message in --output json.
type refusalLine struct {
	Type      string `json:"type"` // always "refused"
	ID        string `json:"id,omitempty"`
	MessageID string `json:"message_id,omitempty"`
	Position  int    `json:"position"`
	Key       string `json:"key"`
	Why       string `json:"why"`
}

func (v *moving) refused(f triage.Refusal) {
	v.refusals++
	e := triage.NewEntry(f.Message, triage.Detail{})
	if v.json() {
		// The result line comes whatever becomes of this one.
		_ = v.emit(refusalLine{Type: "refused", ID: e.ID, MessageID: e.MessageID, Position: e.Position, Key: e.Key, Why: f.Why})
		return
	}
	if v.progress != nil {
		v.progress.clear()
	}
	switch {
	case v.refusals <= maxRefusals:
		v.say("refused #%d %s key %q: %s", e.Position, printable(orDash(triage.Name(f.Message))), e.Key, printable(f.Why))
	case v.refusals == maxRefusals+1:
		v.say("refused more, which are counted below (--output json lists all)")
	}
}

// resultLine is the last line of --output json.
type resultLine struct {
	Type     string `json:"type"` // always "result"
	Verb     string `json:"verb"`
	DryRun   bool   `json:"dry_run,omitempty"`
	ReplayID string `json:"replay_id,omitempty"`
	triage.Outcome
	Kept   int    `json:"kept"`
	Left   int    `json:"left"`
	Failed int    `json:"failed"`
	Error  string `json:"error,omitempty"`
}

// finish prints what was done, and turns "less than was asked" into an error.
func (v *moving) finish(o triage.Outcome, err error) error {
	if v.progress != nil {
		v.progress.clear()
	}
	stopped := errors.Is(err, context.Canceled)
	failed := 0
	if err != nil && !stopped {
		failed = 1
	}
	if printErr := v.print(o, failed, err); err == nil {
		err = printErr
	}
	switch {
	case stopped:
		return &incompleteError{fmt.Sprintf("stopped after %s; %d were not looked at; running the same command again goes on from here",
			count(o.Moved, "message"), o.Left())}
	case err != nil:
		return err
	case o.Gone > 0:
		return &incompleteError{fmt.Sprintf("%s that had been counted could not be found: somebody else took them, or looks at them just now; run the same command again to see",
			count(o.Gone, "message"))}
	case o.Refused > 0:
		return &incompleteError{fmt.Sprintf("%s refused and left where they were", count(o.Refused, "message"))}
	}
	return nil
}

func (v *moving) print(o triage.Outcome, failed int, err error) error {
	if v.json() {
		line := resultLine{
			Type: "result", Verb: v.done, ReplayID: v.id, Outcome: o, Kept: o.Kept(), Left: o.Left(), Failed: failed,
		}
		if err != nil {
			line.Error = err.Error()
		}
		return v.emit(line)
	}
	text := fmt.Sprintf("%s %d, kept %d%s, failed %d", v.done, o.Moved, o.Kept(), keptWhy(o, failed), failed)
	if o.Gone > 0 {
		text += fmt.Sprintf(", gone %d", o.Gone)
	}
	if v.id != "" {
		text += "; replay id " + v.id
	}
	_, printErr := fmt.Fprintln(v.Stdout, text)
	return printErr
}

// keptWhy says why messages stay, in brackets; nothing when none do.
func keptWhy(o triage.Outcome, failed int) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", what, n))
		}
	}
	add(o.Refused, "refused")
	add(o.Unmatched, "not matching")
	add(o.Elsewhere, "of other queues")
	add(o.Unknown, "of unknown queues")
	add(o.Left()-failed, "not reached")
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// countMatching says how many messages a verb would move, without moving any.
// It is exact only as long as nobody else takes some.
func countMatching(ctx context.Context, s broker.Sifter, p triage.Place, b triage.Bounds) (int, error) {
	if b.Select.Empty() && p.Of == "" {
		return limited(b.Window, b.Limit), nil
	}
	n := 0
	_, err := triage.List(ctx, s, p, triage.ListOptions{Select: b.Select, Limit: b.Limit, Window: b.Window},
		func(*broker.Stored) error { n++; return nil })
	return n, err
}

func limited(n, limit int) int {
	if limit > 0 {
		return min(n, limit)
	}
	return n
}
