package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/triage"
)

// The exit codes.
const (
	exitOK          = 0
	exitIncomplete  = 1 // findings, or less was done than was asked
	exitUsage       = 2 // what was asked can never work
	exitUnreachable = 3 // the broker or the database does not answer, or refuses who we are
)

// usageError is a mistake in what was typed.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// incompleteError is a verb that did less than was asked, and whose result was
// already printed.
type incompleteError struct{ text string }

func (e *incompleteError) Error() string { return e.text }

// commandError marks an error of a command's own, so that those of the flag
// parser can be told apart: they are mistakes in what was typed.
type commandError struct{ err error }

func (e *commandError) Error() string { return e.err.Error() }
func (e *commandError) Unwrap() error { return e.err }

func exitCode(err error) int {
	var usage *usageError
	var own *commandError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage), !errors.As(err, &own):
		return exitUsage
	case is(err, broker.ErrUnreachable, broker.ErrCredentials, broker.ErrPermission, store.ErrUnreachable, store.ErrRefused):
		return exitUnreachable
	case is(err, broker.ErrMissing, broker.ErrConfig, broker.ErrMismatch, broker.ErrUnsupported, store.ErrConfig, store.ErrSchema):
		return exitUsage
	default:
		return exitIncomplete
	}
}

func is(err error, classes ...error) bool {
	for _, class := range classes {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// printError writes err, one line for each of its lines, and what to do.
func printError(w io.Writer, err error) {
	text := strings.TrimSpace(err.Error())
	if text == "" {
		return
	}
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimPrefix(strings.TrimRight(line, "\n"), "holdfast: "), "triage: ")
		fmt.Fprintf(w, "holdfast: %s\n", printable(strings.ReplaceAll(line, "\t", "  ")))
	}
	if todo := advice(err); todo != "" {
		fmt.Fprintf(w, "holdfast: %s\n", todo)
	}
}

// advice is what to do about an error whose own text cannot know which command
// it ended.
func advice(err error) string {
	var usage *usageError
	var missed *app.MissedError
	switch {
	case errors.As(err, &usage), errors.As(err, &missed), errors.Is(err, triage.ErrCallerGone):
		return ""
	case errors.Is(err, broker.ErrCredentials):
		return "the broker answers and refuses the login: check --broker, HOLDFAST_BROKER or AMQP_URL"
	case errors.Is(err, broker.ErrUnreachable):
		return "check that the broker is up, and the address in --broker, HOLDFAST_BROKER or AMQP_URL"
	case errors.Is(err, broker.ErrUnrouted):
		return "no queue took the copy, so its original stays: check that the target exists, then run the same command again"
	case errors.Is(err, broker.ErrRefused):
		return "the broker refused the copy, so its original stays: the target may be full; make room, then run the same command again"
	case errors.Is(err, broker.ErrUnknown):
		return "the broker did not say whether it stored the last copies, so their originals stay: running the same command again may duplicate those"
	case errors.Is(err, store.ErrUnreachable):
		return "check that the database is up, and the address in --store, HOLDFAST_STORE or DATABASE_URL"
	case errors.Is(err, context.Canceled):
		return "ended by a signal"
	default:
		return ""
	}
}
