package outbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// RelayEventKind is what a [RelayEvent] tells. The set is closed.
type RelayEventKind string

// The kinds of event.
const (
	RelayStarted      RelayEventKind = "started"       // the relay is at work
	RelayStopped      RelayEventKind = "stopped"       // it has given its lanes back
	RelayTook         RelayEventKind = "took"          // it has taken Count lanes
	RelayTookOver     RelayEventKind = "took_over"     // they were another relay's, which is dead
	RelayLapsed       RelayEventKind = "lapsed"        // it came too late to keep its lanes for sure: nothing is published until it has them again
	RelayLost         RelayEventKind = "lost"          // Count lanes are another relay's now
	RelayFenced       RelayEventKind = "fenced"        // Count outcomes came too late: somebody else has the rows
	RelayFailed       RelayEventKind = "failed"        // a row failed: somebody should look
	RelayUnknown      RelayEventKind = "unknown"       // nobody can say whether the broker has a row; it is published again
	RelayLeft         RelayEventKind = "left"          // the same, and the row is left for a human
	RelayRefused      RelayEventKind = "refused"       // the broker refused a row, which is tried again after Wait
	RelayOpened       RelayEventKind = "opened"        // a destination can be published to
	RelayClosed       RelayEventKind = "closed"        // it cannot, for want of a connection
	RelayMissing      RelayEventKind = "missing"       // it does not exist: its rows wait
	RelayForbidden    RelayEventKind = "forbidden"     // this relay may not write there: its rows wait
	RelayTripped      RelayEventKind = "tripped"       // it failed too many rows in a row, and is left alone for Wait
	RelayMended       RelayEventKind = "mended"        // it takes rows again
	RelayBlocked      RelayEventKind = "blocked"       // the broker accepts no publishes; Text is its reason
	RelayUnblocked    RelayEventKind = "unblocked"     // it accepts them again
	RelayDatabaseLost RelayEventKind = "database_lost" // the database does not answer as it should
	RelayDatabaseBack RelayEventKind = "database_back" // it does again
	RelayDiffers      RelayEventKind = "differs"       // another relay has other settings; the more careful ones hold
)

// RelayEvent is something that happened to a relay or to one of its rows. It
// carries no payload and no header.
type RelayEvent struct {
	Kind  RelayEventKind
	Time  time.Time
	Relay string // the relay's name

	// One row.
	ID          string
	Destination string
	Key         string
	Type        string
	Class       store.Class
	Lane        int

	Count int
	Wait  time.Duration // until the next try, at most
	Err   error
	Text  string
}

var relayLevels = map[RelayEventKind]slog.Level{
	RelayFailed: slog.LevelError, RelayLeft: slog.LevelError, RelayMissing: slog.LevelError, RelayForbidden: slog.LevelError,
	RelayTripped: slog.LevelError, RelayDatabaseLost: slog.LevelError, RelayClosed: slog.LevelError, RelayDiffers: slog.LevelError,
	RelayLapsed: slog.LevelWarn, RelayLost: slog.LevelWarn, RelayFenced: slog.LevelWarn, RelayUnknown: slog.LevelWarn,
	RelayBlocked: slog.LevelWarn, RelayRefused: slog.LevelWarn, RelayTookOver: slog.LevelWarn,
}

func (e RelayEvent) log(logger *slog.Logger) {
	ctx := context.Background()
	if level := relayLevels[e.Kind]; logger.Enabled(ctx, level) {
		logger.LogAttrs(ctx, level, "holdfast: relay: "+string(e.Kind), e.attrs()...)
	}
}

func (e RelayEvent) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("relay", e.Relay)}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	if e.ID != "" {
		attrs = append(attrs, slog.Int("lane", e.Lane))
	}
	add("id", e.ID)
	add("destination", e.Destination)
	add("key", e.Key)
	add("type", e.Type)
	add("class", string(e.Class))
	if e.Count != 0 {
		attrs = append(attrs, slog.Int("count", e.Count))
	}
	if e.Wait != 0 {
		attrs = append(attrs, slog.String("wait", e.Wait.String()))
	}
	if e.Err != nil {
		add("error", cleanText(e.Err))
	}
	add("text", e.Text)
	return attrs
}

// tell logs the event and tells the observer, of which nothing comes through:
// no listener can stop a relay.
func (r *Relay) tell(e RelayEvent) {
	e.Time, e.Relay = time.Now(), r.cfg.Name
	e.log(r.cfg.Logger)
	if r.cfg.Observe == nil {
		return
	}
	defer func() { _ = recover() }()
	r.cfg.Observe(e)
}
