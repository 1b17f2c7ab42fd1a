package demo

import (
	"fmt"

	"github.com/holdfast-mq/holdfast"
)

// describe says what an event means to an order that was in place was. An
// order that is done at once is not worth a line: most are.
func describe(e holdfast.Event, was place) string {
	switch e.Kind {
	case holdfast.EventDone:
		return describeDone(e, was)
	case holdfast.EventDelayed:
		return fmt.Sprintf("attempt %d: %v; again in %v", e.Attempt, e.Err, e.Wait)
	case holdfast.EventHeld:
		return fmt.Sprintf("%v; back in %v", e.Err, hold)
	case holdfast.EventParked:
		return describePark(e)
	case holdfast.EventDiscarded:
		return "dropped on purpose; nothing of it stays"
	default:
		return ""
	}
}

func describePark(e holdfast.Event) string {
	if e.Reason == holdfast.ReasonMalformed {
		return fmt.Sprint(e.Err) // which begins with that word
	}
	return fmt.Sprintf("%s: %v", e.Reason, e.Err)
}

func describeDone(e holdfast.Event, was place) string {
	switch {
	case was == held:
		return "came back from its hold and is charged"
	case was == parked:
		return "replayed, and charged"
	case e.Attempt > 1:
		return fmt.Sprintf("charged on attempt %d", e.Attempt)
	default:
		return ""
	}
}
