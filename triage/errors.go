package triage

import (
	"errors"
	"fmt"
	"strings"
)

// The errors of the verbs, beside those of the broker, which are passed on
// wrapped.
var (
	// ErrNotFound: no message that waits there has that id. Nothing was done.
	ErrNotFound = errors.New("triage: no such message")

	// ErrNoReplyAddress: the message names nobody who waits for an answer.
	// Nothing was done.
	ErrNoReplyAddress = errors.New("triage: the message has no reply address")

	// ErrCallerGone: the reply address leads nowhere any more. The message
	// stays.
	ErrCallerGone = errors.New("triage: the caller is gone: no queue took the answer, and the message stays where it is")

	// ErrChanged: between finding a message and acting on it somebody else
	// took it. Nothing was done.
	ErrChanged = errors.New("triage: the message is not there any more: somebody else took it")

	// ErrNotDurable: messages are removed only once their lines are on disk,
	// and the destination of the export cannot promise that. Nothing was done.
	ErrNotDurable = errors.New("triage: an export that removes needs a file")
)

// AmbiguousError says that an id fits several messages. Nothing was done.
type AmbiguousError struct {
	ID   string
	Fits []string
}

// Error names some of the messages.
func (e *AmbiguousError) Error() string {
	some := e.Fits[:min(len(e.Fits), 5)]
	return fmt.Sprintf("triage: %q fits %d messages (%s): give more of the id, or its place as #1, #2, …",
		e.ID, len(e.Fits), strings.Join(some, ", "))
}
