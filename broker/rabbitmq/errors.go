package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// classified pairs a text that says what to do with the class that callers
// ask for.
func classified(class error, format string, args ...any) error {
	return &classError{class: class, text: "rabbitmq: " + fmt.Sprintf(format, args...)}
}

type classError struct {
	class error
	text  string
}

func (e *classError) Error() string { return e.text }
func (e *classError) Unwrap() error { return e.class }

// missingTarget says of a missing queue also what comes of it: a copy for it
// would be routed to no queue.
func missingTarget(err error) error {
	if !errors.Is(err, broker.ErrMissing) {
		return err
	}
	return &classError{class: errors.Join(broker.ErrMissing, broker.ErrUnrouted), text: err.Error()}
}

// serverError is err as the broker said it, or nil when it is the client's own.
func serverError(err error) *amqp.Error {
	var said *amqp.Error
	if errors.As(err, &said) && said.Server {
		return said
	}
	return nil
}

// channelError reports whether code closes a channel only. Every other error
// of AMQP closes the connection.
func channelError(code int) bool {
	switch code {
	case amqp.ContentTooLarge, amqp.NoRoute, amqp.NoConsumers, amqp.AccessRefused, amqp.NotFound, amqp.ResourceLocked, amqp.PreconditionFailed:
		return true
	}
	return false
}

// dialError classifies why a connection could not be had.
func dialError(at endpoint, err error) error {
	said := serverError(err)
	switch {
	case said == nil:
		return classified(broker.ErrUnreachable, "no connection to %s: %s", at, plainText(err))
	case said.Code == amqp.AccessRefused:
		return classified(broker.ErrCredentials,
			"%s refuses the login of user %q: check the user name and the password (%s)", at, at.user, said.Reason)
	case said.Code == amqp.NotAllowed && strings.Contains(said.Reason, "not found"):
		return classified(broker.ErrMissing,
			"%s has no virtual host %q: create it, or correct the path of the URL (%s)", at, at.vhost, said.Reason)
	case said.Code == amqp.NotAllowed && !strings.Contains(said.Reason, "limit"):
		return classified(broker.ErrPermission,
			"%s lets user %q not into virtual host %q: grant it (rabbitmqctl set_permissions -p %s %s …) (%s)",
			at, at.user, at.vhost, at.vhost, at.user, said.Reason)
	}
	return classified(broker.ErrUnreachable, "%s refuses the connection: %s", at, said.Reason)
}

// plainText keeps the client's wrong guess out: when a handshake is cut off it
// reports bad credentials, although nobody looked at them.
func plainText(err error) string {
	switch {
	case errors.Is(err, amqp.ErrCredentials), errors.Is(err, amqp.ErrVhost):
		return "the connection was lost during the handshake"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	var own *amqp.Error
	if errors.As(err, &own) {
		return own.Reason
	}
	return err.Error()
}

// grant is a permission that an operation needs.
type grant struct {
	verb string // configure, write or read
	kind string // exchange or queue
	name string
}

func (g grant) String() string { return fmt.Sprintf("%s on %s %q", g.verb, g.kind, g.name) }

var refusal = regexp.MustCompile(`(?:(configure|write|read) )?access to (\w+) '([^']*)' in vhost '([^']*)' refused for user '([^']*)'`)

// permissionError names the grants that are missing. RabbitMQ 4 says which
// one; older ones say only on what, and then it is one of those that the
// operation needs there.
func permissionError(what, reason string, needs []grant) error {
	m := refusal.FindStringSubmatch(reason)
	if m == nil {
		return classified(broker.ErrPermission, "%s: refused: it needs %s (%s)", what, list(needs), reason)
	}
	verb, kind, name, vhost, user := m[1], m[2], m[3], m[4], m[5]
	var missing []grant
	for _, g := range needs {
		if g.kind == kind && g.name == name && (verb == "" || g.verb == verb) {
			missing = append(missing, g)
		}
	}
	if missing == nil {
		missing = []grant{{verb: orDefault(verb, "access"), kind: kind, name: name}}
	}
	return classified(broker.ErrPermission,
		"%s: user %q needs %s in virtual host %q: grant it with rabbitmqctl set_permissions", what, user, list(missing), vhost)
}

func list(grants []grant) string {
	texts := make([]string, len(grants))
	for i, g := range grants {
		texts[i] = g.String()
	}
	return strings.Join(texts, " and ")
}

var inequivalent = regexp.MustCompile(`inequivalent arg '([^']*)' for (\w+) '([^']*)' in vhost '([^']*)': received (.*) but current is (.*)$`)

// mismatchError is for a 406 at a declaration: the thing exists with another
// argument, and only a person can say which one is right.
func mismatchError(what, reason string) error {
	m := inequivalent.FindStringSubmatch(reason)
	if m == nil {
		return classified(broker.ErrMismatch,
			"%s exists with other arguments: delete or rename it, or choose another namespace; Holdfast never changes it (%s)", what, reason)
	}
	return classified(broker.ErrMismatch,
		"%s in virtual host %q exists with another %s: Holdfast asks for %s, the broker has %s: "+
			"delete or rename it, or choose another namespace; Holdfast never changes it", what, m[4], m[1], m[5], m[6])
}

// mismatchedArgument is the argument that a 406 names, or empty.
func mismatchedArgument(err error) string {
	said := serverError(err)
	if said == nil || said.Code != amqp.PreconditionFailed {
		return ""
	}
	if m := inequivalent.FindStringSubmatch(said.Reason); m != nil {
		return m[1]
	}
	return ""
}

// textOf is err's text without the package's name, to go into another one.
func textOf(err error) string { return strings.TrimPrefix(err.Error(), "rabbitmq: ") }
