package triage

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/holdfast-mq/holdfast/broker"
)

// syncer is a destination that can put on disk what was written: *os.File.
type syncer interface{ Sync() error }

// Export writes each picked message as one line of JSON (an [Entry] with all
// headers, typed, and the whole body in base64) to w. With remove, w must have
// a Sync method, like a file: each message is removed only after its line was
// written and synced. An error of w ends the export; the message that it was
// about stays.
//
// Moved in its outcome counts the lines that were written, or with remove the
// messages that were removed.
func Export(ctx context.Context, s broker.Sifter, p Place, b Bounds, w io.Writer, remove bool) (Outcome, error) {
	disk, durable := w.(syncer)
	if remove && !durable {
		return Outcome{}, ErrNotDurable
	}
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	write := func(m *broker.Stored) error {
		return lines.Encode(NewEntry(m, Detail{Headers: true, Body: true}))
	}
	if !remove {
		return exportOnly(ctx, s, p, b, disk, write)
	}
	// One sync for each message: a second pass that removes what a first one
	// wrote would have to tell apart messages that carry no identity.
	return newPass(p, b, func(m *broker.Stored) (broker.Action, string, error) {
		if err := write(m); err != nil {
			return broker.Action{}, "", err
		}
		return broker.Action{Verb: broker.VerbDrop}, "", disk.Sync()
	}).run(ctx, s)
}

func exportOnly(ctx context.Context, s broker.Sifter, p Place, b Bounds, disk syncer, write func(*broker.Stored) error) (Outcome, error) {
	outcome, err := List(ctx, s, p, ListOptions{Select: b.Select, Limit: b.Limit, Window: b.Window}, write)
	if disk != nil {
		err = errors.Join(err, disk.Sync())
	}
	return outcome, err
}
