package holdfast

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// EventKind is what an [Event] tells. The set is closed.
type EventKind string

// The kinds of event.
const (
	EventAttached     EventKind = "attached"      // the consumer is attached to its queue
	EventDetached     EventKind = "detached"      // the session ended; Err says why, Wait until the next try
	EventDone         EventKind = "done"          // the handler succeeded and the broker was told
	EventDelayed      EventKind = "delayed"       // the attempt failed; a copy waits on a rung
	EventHeld         EventKind = "held"          // a copy waits in a hold
	EventReturned     EventKind = "returned"      // a held message came back
	EventParked       EventKind = "parked"        // a copy is kept for a human: somebody should look
	EventDiscarded    EventKind = "discarded"     // dropped on purpose
	EventReleased     EventKind = "released"      // given back to the broker
	EventTry          EventKind = "try"           // a try failed and another follows in this attempt
	EventUnsettled    EventKind = "unsettled"     // a settlement failed; Err says how, the original stays
	EventBlocked      EventKind = "blocked"       // the broker accepts no publishes; Text is its reason
	EventUnblocked    EventKind = "unblocked"     // it accepts them again
	EventReplyLost    EventKind = "reply_lost"    // the caller of a request is gone
	EventNotForReply  EventKind = "not_for_reply" // a responder said Park, which counts as a retry
	EventSlow         EventKind = "slow"          // a handler nears the broker's own limit
	EventIsolated     EventKind = "isolated"      // a suspect runs alone, one message at a time
	EventBraked       EventKind = "braked"        // the consumer stands still: most messages would be parked for one Fingerprint
	EventUnbraked     EventKind = "unbraked"      // it goes on; Text says why
	EventBadCapture   EventKind = "bad_capture"   // a capture did not validate: the message is fresh
	EventWarning      EventKind = "warning"       // something that an operator should mend
	EventStopping     EventKind = "stopping"      // the consumer was told to stop
	EventStopped      EventKind = "stopped"       // it has stopped
	EventGraceExpired EventKind = "grace_expired" // handlers still ran when the grace period was over
)

// Event is something that happened to a consumer or to one of its messages. It
// carries no payload and no header, so that it can be logged anywhere.
type Event struct {
	Kind      EventKind
	Time      time.Time
	Queue     string
	MessageID string
	CaptureID string
	Origin    Origin
	Attempt   int           // the attempt that this event is about
	Try       int           // the last try inside it
	Lap       int           // the laps spent, this hold included
	Crashes   int           // deliveries that ended without a settlement
	Reason    Reason        // of EventParked
	Wait      time.Duration // until the next attempt, lap, try or connect
	Duration  time.Duration // what the handler took
	Settling  time.Duration // from there until the fate was durable: for a copy, its confirm
	Err       error
	Text      string

	Fingerprint string // of EventBraked and EventUnbraked
}

// Observer is told of every event. Observe is called from many goroutines at
// once and must not block; a panic in it is swallowed.
type Observer interface {
	Observe(Event)
}

// ObserverFunc is a function that is an [Observer].
type ObserverFunc func(Event)

// Observe calls f.
func (f ObserverFunc) Observe(e Event) { f(e) }

// Observers tells each of several observers in turn.
func Observers(all ...Observer) Observer {
	return ObserverFunc(func(e Event) {
		for _, o := range all {
			if o != nil {
				observe(o, e)
			}
		}
	})
}

// observe tells o and lets nothing of it through: the failure path cannot
// fail because of a listener.
func observe(o Observer, e Event) {
	if o == nil {
		return
	}
	defer func() { _ = recover() }()
	o.Observe(e)
}

// LogObserver returns an observer that writes events to logger: parks and
// detachments as errors, what an operator should know as warnings, the rest of
// the failure path as info, and successes as debug.
func LogObserver(logger *slog.Logger) Observer {
	return ObserverFunc(func(e Event) {
		level := logLevel(e.Kind)
		ctx := context.Background()
		if logger.Enabled(ctx, level) {
			logger.LogAttrs(ctx, level, "holdfast: "+string(e.Kind), e.attrs()...)
		}
	})
}

func logLevel(k EventKind) slog.Level {
	switch k {
	case EventParked, EventDetached, EventUnsettled, EventGraceExpired, EventBraked:
		return slog.LevelError
	case EventBlocked, EventReplyLost, EventNotForReply, EventSlow, EventBadCapture, EventWarning, EventDiscarded, EventUnbraked:
		return slog.LevelWarn
	case EventDone:
		return slog.LevelDebug
	default:
		return slog.LevelInfo
	}
}

func (e Event) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("queue", e.Queue)}
	add := func(key string, v any, present bool) {
		if present {
			attrs = append(attrs, slog.Any(key, v))
		}
	}
	add("message_id", e.MessageID, e.MessageID != "")
	add("capture_id", e.CaptureID, e.CaptureID != "")
	add("exchange", e.Origin.Exchange, e.Origin.Exchange != "")
	add("key", e.Origin.Key, e.Origin.Key != "")
	add("attempt", e.Attempt, e.Attempt != 0)
	add("try", e.Try, e.Try > 1)
	add("lap", e.Lap, e.Lap != 0)
	add("crashes", e.Crashes, e.Crashes != 0)
	add("reason", string(e.Reason), e.Reason != "")
	add("fingerprint", e.Fingerprint, e.Fingerprint != "")
	add("wait", e.Wait.String(), e.Wait != 0)
	add("duration", e.Duration.String(), e.Duration != 0)
	if e.Err != nil && e.Kind != EventDiscarded { // nothing of what is dropped stays, not even quoted
		text, _ := cutText(fmt.Sprint(e.Err))
		add("error", text, true)
	}
	add("text", e.Text, e.Text != "")
	return attrs
}
