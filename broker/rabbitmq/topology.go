package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// The arguments of the queues that are declared.
const (
	argType          = "x-queue-type"
	argTTL           = "x-message-ttl"
	argDeadLetter    = "x-dead-letter-exchange"
	argStrategy      = "x-dead-letter-strategy"
	argOverflow      = "x-overflow"
	argAlternate     = "alternate-exchange"
	argDeliveryLimit = "x-delivery-limit"

	defaultDeliveryLimit = 20
)

// layout is what one subscription needs.
type layout struct {
	names
	queue  string
	rungs  []time.Duration
	kind   RungType
	parked string
	source source
	server server
}

// declared is what the declaration found out.
type declared struct {
	// holdLimited: the hold queue has the default delivery limit, and looking
	// at it is counted.
	holdLimited bool
	warnings    []string
}

// declarer declares one thing after the other. A channel is closed by the
// broker at the first refusal.
type declarer struct {
	layout
	ctx   context.Context
	conn  *conn
	ch    *amqp.Channel
	found declared
}

// find makes sure that the source exists, before anything is declared for it:
// nothing is left behind for a queue that does not.
func find(ctx context.Context, c *conn, l layout) error {
	d := &declarer{layout: l, ctx: ctx, conn: c}
	defer d.close()
	return d.exists()
}

// declare makes everything ready. It does so on the consuming connection,
// since a blocked publishing one answers nothing.
func declare(ctx context.Context, c *conn, l layout) (declared, error) {
	d := &declarer{layout: l, ctx: ctx, conn: c}
	err := d.all()
	d.close()
	return d.found, err
}

// close gives the channel back. It fails only with the connection, which the
// next request finds out.
func (d *declarer) close() {
	if d.ch != nil {
		_ = closeChannel(d.ctx, d.conn, d.ch)
	}
}

func (d *declarer) all() error {
	steps := []func() error{d.shared, d.bindSource}
	published := []string{d.names.exchange(), d.back()}
	for _, rung := range d.rungs {
		steps = append(steps, func() error { return d.rung(rung) })
		published = append(published, d.names.rung(rung))
	}
	for _, exchange := range published {
		steps = append(steps, func() error { return d.writable(exchange) })
	}
	if d.source.holds(d.queue) {
		steps = append(steps, func() error { return d.keep(holdName(d.queue)) })
	}
	steps = append(steps, func() error { return d.keep(d.parked) })
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (d *declarer) exists() error {
	what := fmt.Sprintf("queue %q", d.queue)
	return d.try(what, nil, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclarePassive(d.queue, true, false, false, false, nil)
		return err
	})
}

// shared declares what all sources of the namespace have in common.
func (d *declarer) shared() error {
	if err := d.exchange(d.names.exchange(), amqp.ExchangeDirect, nil); err != nil {
		return err
	}
	strays := d.strays()
	if err := d.exchange(strays, amqp.ExchangeFanout, nil); err != nil {
		return err
	}
	if err := d.quorum(strays); err != nil {
		return err
	}
	if err := d.bind(strays, strays, strays); err != nil {
		return err
	}
	return d.exchange(d.back(), amqp.ExchangeDirect, amqp.Table{argAlternate: strays},
		grant{"read", "exchange", d.back()}, grant{"write", "exchange", strays})
}

func (d *declarer) bindSource() error { return d.bind(d.queue, d.queue, d.back()) }

// rung declares one delay. The exchange is a fanout, which ignores the key,
// so that the key can name the source queue until the message returns.
// Publishing to the queue by its own name would make a cycle, which the
// broker drops without a word.
func (d *declarer) rung(delay time.Duration) error {
	name := d.names.rung(delay)
	if err := d.exchange(name, amqp.ExchangeFanout, nil); err != nil {
		return err
	}
	args := amqp.Table{argTTL: delay.Milliseconds(), argDeadLetter: d.back(), argType: amqp.QueueTypeClassic}
	if d.kind == RungQuorum {
		args[argType] = amqp.QueueTypeQuorum
		// At most once loses what cannot return when its time is up.
		args[argStrategy] = "at-least-once"
		args[argOverflow] = amqp.QueueOverflowRejectPublish
	}
	err := d.declareQueue(name, args, grant{"read", "queue", name}, grant{"write", "exchange", d.back()})
	if err != nil {
		return err
	}
	return d.bind(name, name, name)
}

// writable checks that copies may be published to exchange, which no
// declaration asks for. Taking away a binding that does not exist does, and
// changes nothing.
func (d *declarer) writable(exchange string) error {
	needs := []grant{{"write", "exchange", exchange}, {"read", "exchange", d.back()}}
	return d.try("publishing to exchange "+strconv.Quote(exchange), needs, func(ch *amqp.Channel) error {
		return ch.ExchangeUnbind(exchange, askedType, d.back(), false, nil)
	})
}

// keep declares a queue in which messages stay until somebody takes them.
func (d *declarer) keep(name string) error {
	if err := d.quorum(name); err != nil {
		return err
	}
	return d.bind(name, name, d.names.exchange())
}

func (d *declarer) exchange(name, kind string, args amqp.Table, needs ...grant) error {
	needs = append(needs, grant{"configure", "exchange", name})
	return d.try(fmt.Sprintf("exchange %q", name), needs, func(ch *amqp.Channel) error {
		return ch.ExchangeDeclare(name, kind, true, false, false, false, args)
	})
}

func (d *declarer) bind(queue, key, exchange string) error {
	needs := []grant{{"write", "queue", queue}, {"read", "exchange", exchange}}
	what := fmt.Sprintf("the binding of queue %q to exchange %q", queue, exchange)
	return d.try(what, needs, func(ch *amqp.Channel) error {
		return ch.QueueBind(queue, key, exchange, false, nil)
	})
}

// quorum declares a replicated queue that gives nothing up. From RabbitMQ 4
// on that must be asked for; before, asking for it dropped a message at its
// first requeue.
func (d *declarer) quorum(name string) error {
	args := amqp.Table{argType: amqp.QueueTypeQuorum}
	if !d.server.limitsByDefault() {
		return d.declareQueue(name, args)
	}
	limited := args
	args = amqp.Table{argType: amqp.QueueTypeQuorum, argDeliveryLimit: int32(-1)}
	err := d.declareQueue(name, args)
	var wrong *declareError
	if errors.As(err, &wrong) && wrong.argument == argDeliveryLimit {
		return d.inherited(name, limited, err)
	}
	return err
}

// inherited accepts a queue that was declared before the broker was upgraded
// from RabbitMQ 3. It cannot be declared anew while there are messages in it,
// and consumers that no longer start after an upgrade would be worse.
func (d *declarer) inherited(name string, args amqp.Table, mismatch error) error {
	if err := d.declareQueue(name, args); err != nil {
		return mismatch // it has a limit of somebody's own
	}
	d.found.warnings = append(d.found.warnings, fmt.Sprintf(
		"queue %q was declared before RabbitMQ 4 and has its default delivery limit of %d: a message that is taken and "+
			"given back that often is dropped; empty the queue and delete it, and the next start declares it without a limit",
		name, defaultDeliveryLimit))
	if name == holdName(d.queue) && !d.server.nacksFree() {
		d.found.holdLimited = true
	}
	return nil
}

func (d *declarer) declareQueue(name string, args amqp.Table, needs ...grant) error {
	needs = append(needs, grant{"configure", "queue", name})
	return d.try(fmt.Sprintf("queue %q", name), needs, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(name, true, false, false, false, args)
		return err
	})
}

func (d *declarer) try(what string, needs []grant, request func(*amqp.Channel) error) error {
	if d.ch == nil || d.ch.IsClosed() {
		ch, err := openChannel(d.ctx, d.conn)
		if err != nil {
			return err
		}
		d.ch = ch
	}
	ch := d.ch
	err := do(d.ctx, d.conn, func() error { return request(ch) })
	if err == nil {
		return nil
	}
	return refusedRequest(what, needs, err)
}

// declareError is a mismatch with the argument that it is about.
type declareError struct {
	error
	argument string
}

func (e *declareError) Unwrap() error { return e.error }

// refusedRequest classifies what the broker said to a request about one
// thing.
func refusedRequest(what string, needs []grant, err error) error {
	said := serverError(err)
	if said == nil {
		return err
	}
	switch said.Code {
	case amqp.NotFound:
		return classified(broker.ErrMissing, "%s does not exist: declare it before its consumer starts (%s)", what, said.Reason)
	case amqp.AccessRefused:
		return permissionError(what, said.Reason, needs)
	case amqp.ResourceLocked:
		return classified(broker.ErrPermission,
			"%s belongs to another connection alone: declare it without exclusive (%s)", what, said.Reason)
	case amqp.PreconditionFailed:
		return &declareError{mismatchError(what, said.Reason), mismatchedArgument(err)}
	}
	return classified(broker.ErrUnreachable, "%s: the broker answers: %s", what, said.Reason)
}
