package rabbitmq

import (
	"context"
	"regexp"
	"strconv"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// source is what is known of a source queue.
type source struct {
	kind kind

	// transient: a broker that restarts does not bring it back.
	transient bool

	// autoDelete: the broker deletes it when its last consumer goes.
	autoDelete bool
}

// check refuses what cannot be a source, whatever the policy.
func (s source) check(queue string) error {
	switch {
	case s.kind == kindStream:
		return classified(broker.ErrUnsupported, "queue %q is a stream: nothing can be settled there", queue)
	case s.autoDelete:
		return classified(broker.ErrConfig, "queue %q is declared with auto-delete: the broker deletes it, with its messages, "+
			"whenever its last consumer pauses or reconnects: declare it without; if it must go away by itself, with x-expires", queue)
	}
	return nil
}

// holds reports whether what waits in a hold can return there. A server-named
// queue is somebody's for as long as they are there, and a transient one does
// not outlive the broker's next start.
func (s source) holds(queue string) bool { return !s.transient && !serverNamed(queue) }

// kind is what sort of queue a source is. It decides what a release costs and
// whether the broker counts deliveries.
type kind uint8

const (
	kindUnknown kind = iota
	kindClassic
	kindQuorum
	kindStream
)

// askedType is no queue type, so that a declaration with it can create and
// change nothing, whatever happens to the queue meanwhile.
const askedType = "holdfast-asks-for-the-type"

// maxAsks bounds the conversation: a queue has no more arguments than that.
const maxAsks = 16

// askSource finds out what queue is, which AMQP has no request for. The broker
// compares a declaration with what is there, argument by argument, and names
// the first that differs with the value it has: that value is sent along the
// next time, until it is the type's turn. A user who may not configure the
// queue learns nothing, and the source is then treated as the lesser of both
// kinds, durable and without auto-delete. Nobody may ask about a server-named
// one.
func askSource(ctx context.Context, c *conn, queue string) (source, error) {
	if serverNamed(queue) {
		return source{kind: kindClassic}, nil // no other can be server-named
	}
	ask := question{args: amqp.Table{argType: askedType}, durable: true}
	for range maxAsks {
		ch, err := openChannel(ctx, c)
		if err != nil {
			return source{}, err
		}
		err = do(ctx, c, func() error {
			_, err := ch.QueueDeclare(queue, ask.durable, ask.autoDelete, false, false, ask.args)
			return err
		})
		said := serverError(err)
		if said == nil {
			return source{}, err
		}
		if found, done := ask.hear(said.Reason); done {
			return ask.source(found), nil
		}
	}
	return ask.source(kindUnknown), nil
}

// question is a declaration that grows by what the broker answers.
type question struct {
	args       amqp.Table
	durable    bool
	autoDelete bool
}

// source is what was learned. Queues of other kinds are always durable.
func (q *question) source(found kind) source {
	if !q.durable && found == kindUnknown {
		found = kindClassic
	}
	return source{kind: found, transient: !q.durable, autoDelete: q.autoDelete}
}

var currentValue = regexp.MustCompile(`^the value '(.*)' of type '(\w+)'$|^'(.*)'$|^none$`)

// hear takes in one answer. done says that there is nothing more to learn.
func (q *question) hear(reason string) (found kind, done bool) {
	m := inequivalent.FindStringSubmatch(reason)
	if m == nil {
		return kindUnknown, true
	}
	argument, current := m[1], currentValue.FindStringSubmatch(m[6])
	if current == nil {
		return kindUnknown, true
	}
	value := current[1] + current[3]
	switch argument {
	case argType:
		return kindOf(value), true
	case "durable":
		q.durable = !q.durable
		return kindUnknown, false
	case "auto_delete":
		q.autoDelete = !q.autoDelete
		return kindUnknown, false
	}
	field, ok := argumentValue(value, current[2])
	if _, again := q.args[argument]; again || !ok {
		return kindUnknown, true
	}
	q.args[argument] = field
	return kindUnknown, false
}

func kindOf(name string) kind {
	switch name {
	case "", amqp.QueueTypeClassic: // before RabbitMQ 4 a classic queue has no such argument
		return kindClassic
	case amqp.QueueTypeQuorum:
		return kindQuorum
	case amqp.QueueTypeStream:
		return kindStream
	}
	return kindUnknown
}

func argumentValue(value, typ string) (any, bool) {
	switch typ {
	case "longstr":
		return value, true
	case "bool":
		return value == "true", true
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil
}

// kinds remembers what sources are, so that the broker's log shows one
// refused declaration for each source and not for each reconnect.
type kinds struct {
	mu    sync.Mutex
	known map[string]source
}

func (k *kinds) of(ctx context.Context, c *conn, queue string) (source, error) {
	k.mu.Lock()
	found, known := k.known[queue]
	k.mu.Unlock()
	if known {
		return found, nil
	}
	found, err := askSource(ctx, c, queue)
	if err != nil {
		return source{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[string]source{}
	}
	k.known[queue] = found
	return found, nil
}

// forget is for a queue that was lost, or that is to be declared anew: it may
// come back as another kind.
func (k *kinds) forget(queue string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, queue)
}
