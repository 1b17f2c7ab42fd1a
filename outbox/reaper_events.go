package outbox

import (
	"context"
	"log/slog"
	"time"
)

// ReaperEventKind is what a [ReaperEvent] tells. The set is closed.
type ReaperEventKind string

// The kinds of event.
const (
	ReaperStuck      ReaperEventKind = "stuck"       // rows for a human, of which no outcome is known
	ReaperWaiting    ReaperEventKind = "waiting"     // rows that a relay is to publish again and has not
	ReaperNoRelay    ReaperEventKind = "no_relay"    // such rows, and no relay is alive
	ReaperFailed     ReaperEventKind = "failed"      // a row was failed: a person must decide
	ReaperLostRace   ReaperEventKind = "lost_race"   // somebody moved the row first
	ReaperFlipError  ReaperEventKind = "flip_error"  // a row could not be failed; the next scan tries again
	ReaperScanned    ReaperEventKind = "scanned"     // a scan has ended
	ReaperScanFailed ReaperEventKind = "scan_failed" // a scan has not come to its end; Err says why
	ReaperStalled    ReaperEventKind = "stalled"     // a scan does not end though it was told to
)

// ReaperEvent is something that a reaper found or did. It carries no payload
// and no header.
type ReaperEvent struct {
	Kind ReaperEventKind
	Time time.Time

	// One row: of ReaperFailed, ReaperLostRace and ReaperFlipError.
	ID          string
	Destination string
	Type        string

	// Since is when the row was claimed, or the oldest of several, by the
	// database's clock.
	Since time.Time

	// Several rows: how many (at most Batch), up to five of their ids, and how
	// many rows are Publishing in all.
	Count   int
	Sample  []string
	Backlog int

	Duration time.Duration // of the scan
	Err      error
	Text     string
}

func (e ReaperEvent) level() slog.Level {
	switch e.Kind {
	case ReaperFailed, ReaperNoRelay, ReaperFlipError, ReaperScanFailed, ReaperStalled:
		return slog.LevelError
	case ReaperStuck, ReaperWaiting, ReaperLostRace:
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}

func (e ReaperEvent) attrs() []slog.Attr {
	var attrs []slog.Attr
	add := func(key string, v any, present bool) {
		if present {
			attrs = append(attrs, slog.Any(key, v))
		}
	}
	add("id", e.ID, e.ID != "")
	add("destination", e.Destination, e.Destination != "")
	add("type", e.Type, e.Type != "")
	add("since", e.Since.Format(time.RFC3339), !e.Since.IsZero())
	add("count", e.Count, e.Count != 0)
	add("sample", e.Sample, len(e.Sample) > 0)
	add("backlog", e.Backlog, e.Count != 0 || e.Kind == ReaperScanned)
	add("duration", e.Duration.String(), e.Duration != 0)
	add("error", e.Err, e.Err != nil)
	add("text", e.Text, e.Text != "")
	return attrs
}

// tell logs the event and lets nothing of an observer through: what watches
// must not fail.
func (r *Reaper) tell(e ReaperEvent) {
	e.Time = time.Now()
	r.cfg.Logger.LogAttrs(context.Background(), e.level(), "holdfast: reaper: "+string(e.Kind), e.attrs()...)
	if r.cfg.Observe == nil {
		return
	}
	defer func() { _ = recover() }()
	r.cfg.Observe(e)
}
