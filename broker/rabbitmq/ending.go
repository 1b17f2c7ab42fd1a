package rabbitmq

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// ending is what the end of a publisher means to the one it works for.
type ending interface {
	// explain says for what the broker closed the channel.
	explain(*amqp.Error) error

	// late is called when a confirm does not come in time, beside run, which
	// may be stuck in a write.
	late(*publisher)

	// outcomes are of what was sent and not confirmed when the publisher ended
	// for the reason why (nil: it was stopped), the oldest first.
	outcomes(flight []flown, why error) []error
}

// copying is the ending of what publishes the copies of a session: each is
// unknown, since its original stays and is delivered again.
type copying struct{}

func (copying) explain(said *amqp.Error) error {
	switch said.Code {
	case amqp.AccessRefused:
		return refusedPublish(said.Reason)
	case amqp.NotFound:
		return classified(broker.ErrUnknown,
			"an exchange was deleted under the session; the next one declares it again (%s)", said.Reason)
	}
	return classified(broker.ErrUnknown, "the broker closed the publishing channel: %s", said.Reason)
}

// refusedPublish is found out only by publishing: no declaration asks for the
// right to write to an exchange that is not yet used.
func refusedPublish(reason string) error {
	what, name := "publishing", ""
	if m := refusal.FindStringSubmatch(reason); m != nil {
		name = m[3]
	}
	if name == defaultExchangeName {
		what = "sending replies"
	}
	return permissionError(what, reason, []grant{{verb: "write", kind: "exchange", name: name}})
}

// late drops the whole connection: RabbitMQ 3.10 wedges one on which the
// target of a publish was deleted, and a channel cannot even be closed then.
func (copying) late(p *publisher) {
	if c := p.conn.Load(); c != nil {
		c.drop(lateError(c.at, p.link.conf, "the publishing connection was dropped"))
	}
}

func (copying) outcomes(flight []flown, why error) []error {
	return unknowns(flight, "session", "copy", why)
}

func lateError(at endpoint, conf Config, consequence string) error {
	return classified(broker.ErrUnknown, "%s confirmed nothing for %v: %s", at, conf.ConfirmTimeout, consequence)
}

func unknowns(flight []flown, who, what string, why error) []error {
	text := "the " + who + " ended before the broker confirmed the " + what
	if why != nil {
		text = "the broker did not confirm the " + what + ": " + textOf(why)
	}
	list := make([]error, len(flight))
	for i := range list {
		list[i] = classified(broker.ErrUnknown, "%s", text)
	}
	return list
}

// shipping is the ending of an outlet to an exchange.
type shipping struct{ exchange string }

// faultError is what the broker closed the channel for, with the messages that
// it may have been about. It does not say which one that was.
type faultError struct {
	error
	about func(*job) bool
}

func (e *faultError) Unwrap() error { return e.error }

var (
	refusedTopic = regexp.MustCompile(`access to topic '(.*)' in exchange '`)
	largerThan   = regexp.MustCompile(`message size (\d+) (?:is )?larger than (?:configured )?max size (\d+)`)
)

func (s shipping) explain(said *amqp.Error) error {
	every := func(*job) bool { return true }
	what := "publishing to " + exchangeText(s.exchange)
	switch said.Code {
	case amqp.NotFound:
		return &faultError{missingExchange(s.exchange, said.Reason), every}
	case amqp.AccessRefused:
		err := permissionError(what, said.Reason, []grant{s.grant()})
		if m := refusedTopic.FindStringSubmatch(said.Reason); m != nil {
			return &faultError{topicError(what, m[1], said.Reason), func(j *job) bool { return j.key == m[1] }}
		}
		return &faultError{err, every}
	}
	if m := largerThan.FindStringSubmatch(said.Reason); m != nil {
		size, _ := strconv.Atoi(m[1]) // digits
		err := classified(broker.ErrConfig, "the message has %s bytes and the broker takes %s: "+
			"publish less, or raise max_message_size there", m[1], m[2])
		return &faultError{err, func(j *job) bool { return len(j.msg.Body) == size }}
	}
	return classified(broker.ErrUnknown, "the broker closed the channel of %s: %s", what, said.Reason)
}

func (s shipping) grant() grant {
	return grant{verb: "write", kind: "exchange", name: orDefault(s.exchange, defaultExchangeName)}
}

func topicError(what, key, reason string) error {
	return classified(broker.ErrPermission, "%s: the routing key %q is refused: "+
		"grant it with rabbitmqctl set_topic_permissions (%s)", what, key, reason)
}

func missingExchange(name, reason string) error {
	return classified(broker.ErrMissing, "%s does not exist: declare it, or correct the destination (%s)", exchangeText(name), reason)
}

func exchangeText(name string) string {
	if name == "" {
		return "the default exchange"
	}
	return fmt.Sprintf("exchange %q", name)
}

// late ends this outlet alone: a destination that confirms nothing is no
// reason to put those of all others in doubt. Whether the connection is wedged
// is found out when the channel is given back.
func (shipping) late(p *publisher) {
	c := p.conn.Load()
	p.cancel(lateError(c.at, p.link.conf, "its channel was given up"))
}

// outcomes tells what is certain from what is not. The broker reads in order
// and reads nothing on after a fault, and the fault is about something that is
// not confirmed: so the newest that it may be about is not stored, nor is
// what came after it. What came before may be stored, and its confirm lost.
func (shipping) outcomes(flight []flown, why error) []error {
	list := unknowns(flight, "outlet", "message", why)
	var fault *faultError
	if !errors.As(why, &fault) {
		return list
	}
	newest := len(flight) - 1
	for newest >= 0 && !fault.about(flight[newest].job) {
		newest--
	}
	if newest < 0 {
		return list
	}
	list[newest] = fault
	for i := newest + 1; i < len(list); i++ {
		list[i] = classified(broker.ErrClosed, "the broker had closed the channel before it read the message")
	}
	return list
}

// defaultExchangeName is what permissions call the exchange without a name.
const defaultExchangeName = "amq.default"
