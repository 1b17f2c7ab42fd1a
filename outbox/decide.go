package outbox

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/store"
)

const (
	firstRefusalWait = time.Second
	longRefusalWait  = 5 * time.Minute

	// maxErrorText is how much of an error a row keeps.
	maxErrorText = 2 << 10
)

// unsentError says why a row was not published: nothing is known against the
// row. Its class is why its destination cannot be published to, if that is why.
type unsentError struct {
	class store.Class
	err   error
}

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

// effect is what the outcome of a publication is worth to its row.
type effect int

// In the order in which they count, where the keys of one row differ.
const (
	effectDone    effect = iota
	effectUnsent         // the broker does not have it, and was perhaps not asked
	effectRefused        // the broker does not have it, and may take it later
	effectFailed         // the broker does not have it, and will not take it
	effectUnknown        // it may have it
)

// judge classifies the error of a publication. An error of no class that
// the seam names may mean anything, which is unknown.
func judge(err error) (effect, store.Class) {
	var unsent *unsentError
	switch {
	case err == nil:
		return effectDone, store.ClassNone
	case errors.As(err, &unsent):
		return effectUnsent, unsent.class
	case errors.Is(err, broker.ErrUnknown):
		return effectUnknown, store.ClassUnknown
	case errors.Is(err, broker.ErrUnrouted):
		return effectFailed, store.ClassUnrouted
	case errors.Is(err, broker.ErrMissing):
		return effectFailed, store.ClassMissing
	case errors.Is(err, broker.ErrPermission):
		return effectFailed, store.ClassPermission
	case errors.Is(err, broker.ErrConfig), errors.Is(err, broker.ErrUnsupported):
		return effectFailed, store.ClassInvalid
	case errors.Is(err, broker.ErrRefused):
		return effectRefused, store.ClassRefused
	case errors.Is(err, broker.ErrClosed), errors.Is(err, broker.ErrUnreachable), errors.Is(err, broker.ErrCredentials):
		return effectUnsent, store.ClassNone
	default:
		return effectUnknown, store.ClassUnknown
	}
}

// worse returns the one of two errors that decides about a row.
func worse(a, b error) error {
	x, _ := judge(a)
	y, _ := judge(b)
	if y > x {
		return b
	}
	return a
}

// decide chooses what to record of a row, given its route, which of its keys
// are confirmed and the worst error of the others. It is the one place where
// that is chosen.
func decide(route Route, row *store.Row, confirmed uint32, err error) store.Outcome {
	what, class := judge(err)
	o := store.Outcome{ID: row.ID, Confirmed: confirmed, Class: class}
	if err != nil && class != store.ClassNone {
		o.Error = cleanText(err)
	}
	switch what {
	case effectDone:
		o.State = store.Published
	case effectFailed:
		o.State = store.Failed
	case effectRefused:
		o.Refused = true
		o.State, o.Wait = store.Pending, doubled(firstRefusalWait, row.Refusals, longRefusalWait)
		if row.Refusals+1 >= route.Refusals {
			o.State, o.Wait = store.Failed, 0
			o.Error = cleanText(fmt.Errorf("refused %d times: %w", row.Refusals+1, err))
		}
	case effectUnknown:
		o.Unknown = true
		o.State = store.Publishing
		if route.Unknown == Republish {
			o.State, o.Wait = store.Pending, repeatWait(row.Unknowns)
		}
	default:
		o.State = store.Pending
	}
	return o
}

// repeatWait lets the first repetition follow at once, and those after it with
// a distance: a broker that never answers is not flooded with duplicates.
func repeatWait(unknowns int) time.Duration {
	if unknowns == 0 {
		return 0
	}
	return doubled(firstWait, unknowns-1, longWait)
}

// cleanText makes an error fit for a column of text: short, and without what
// PostgreSQL does not take.
func cleanText(err error) string {
	text := strings.ReplaceAll(err.Error(), "\x00", "")
	if len(text) > maxErrorText {
		text = text[:maxErrorText]
	}
	return strings.ToValidUTF8(text, "")
}
