package broker

import "errors"

// The classes of what can go wrong. Drivers wrap them with a text that says
// what to do; callers ask with [errors.Is] or [Permanent].
var (
	// ErrUnreachable: the broker does not answer. Trying again later may help.
	ErrUnreachable = errors.New("broker: unreachable")

	// ErrCredentials: the broker answers and refuses who we are.
	ErrCredentials = errors.New("broker: credentials refused")

	// ErrPermission: the broker knows us and refuses what we ask.
	ErrPermission = errors.New("broker: permission refused")

	// ErrMismatch: something exists under our name with other arguments.
	ErrMismatch = errors.New("broker: exists with other arguments")

	// ErrMissing: the queue does not exist.
	ErrMissing = errors.New("broker: no such queue")

	// ErrConfig: what the caller asked can never work.
	ErrConfig = errors.New("broker: configuration")

	// ErrUnsupported: this broker, or this source, cannot do that. Nothing was
	// done.
	ErrUnsupported = errors.New("broker: not supported")

	// ErrUnrouted: the broker took the message and no queue did. The original
	// stays.
	ErrUnrouted = errors.New("broker: no queue took the message")

	// ErrRefused: the broker refused the message. The original stays.
	ErrRefused = errors.New("broker: the message was refused")

	// ErrUnknown: no one can say whether the broker has the message. The
	// original stays, so that a duplicate is possible and a loss is not.
	ErrUnknown = errors.New("broker: the outcome is unknown")

	// ErrSettled: the delivery was settled before.
	ErrSettled = errors.New("broker: already settled")

	// ErrPaused: the session is paused and everything was received.
	ErrPaused = errors.New("broker: paused")

	// ErrClosed: closed by the caller.
	ErrClosed = errors.New("broker: closed")

	// ErrDetached: the connection stands and nothing is consumed: the queue
	// was deleted, moved, or the broker dropped the consumer.
	ErrDetached = errors.New("broker: not attached to the queue")
)

// Permanent reports whether err will not go away by waiting: a person has to
// change something first.
func Permanent(err error) bool {
	for _, class := range []error{ErrCredentials, ErrPermission, ErrMismatch, ErrMissing, ErrConfig, ErrUnsupported} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}
