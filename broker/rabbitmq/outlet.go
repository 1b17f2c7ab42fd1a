package rabbitmq

import (
	"context"
	"errors"
	"sync/atomic"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// maxBody is the most that any RabbitMQ can be told to take.
const maxBody = 512 << 20

// OpenOutlet implements [broker.Outlets]. The destination is an exchange; ""
// is the default one, whose keys are the names of queues.
//
// An outlet has a channel of its own on the connection that all of the broker
// share. What is published is confirmed, mandatory and persistent, whatever
// else is on its way there. A confirm that does not come within
// [Config].ConfirmTimeout ends the outlet. A connection that is lost while
// nothing is under way is made again by the next publish.
func (b *Broker) OpenOutlet(ctx context.Context, destination string, notify func(broker.Notice)) (broker.Outlet, error) {
	if err := checkShort(destination); err != nil {
		return nil, err
	}
	if err := b.begin(); err != nil {
		return nil, err
	}
	defer b.work.Done()
	// Asked on the connection that consumes: one that is blocked answers
	// nothing.
	asked, err := b.consume.get(ctx)
	if err != nil {
		return nil, err
	}
	if err := prove(ctx, asked, destination); err != nil {
		return nil, err
	}
	c, err := b.publish.get(ctx)
	if err != nil {
		return nil, err
	}
	o := newOutlet(b, destination, notify)
	if !b.addOutlet(o) {
		o.copies.cancel(nil)
		return nil, broker.ErrClosed
	}
	go o.run(c)
	return o, nil
}

// prove makes sure that exchange is there and may be published to. RabbitMQ 4
// says what exists only to who may do something there, so that the grant is
// asked for first.
func prove(ctx context.Context, c *conn, exchange string) error {
	d := &declarer{ctx: ctx, conn: c}
	defer d.close()
	if err := d.mayPublish(exchange); err != nil || exchange == "" {
		return err
	}
	err := d.try(exchangeText(exchange), []grant{shipping{exchange}.grant()}, func(ch *amqp.Channel) error {
		return ch.ExchangeDeclarePassive(exchange, amqp.ExchangeDirect, true, false, false, false, nil)
	})
	if errors.Is(err, broker.ErrMissing) {
		return missingExchange(exchange, textOf(err))
	}
	return err
}

// noSource is the name of no exchange.
const noSource = "holdfast-asks-for-the-grant"

// mayPublish asks for the right to write, which no request but a publish is
// about. To unbind an exchange from a source asks for write on the one and then
// for read on the other, and a binding that cannot exist is taken away without
// any effect. RabbitMQ before 4 does not name the right that it refuses, so that
// the two must have different names; who gets as far as the source may write.
// There is no exchange amq.default to unbind, and its name is what the default
// exchange is permitted by.
func (d *declarer) mayPublish(exchange string) error {
	g := shipping{exchange}.grant()
	err := d.try("publishing to "+exchangeText(exchange), []grant{g}, func(ch *amqp.Channel) error {
		err := ch.ExchangeUnbind(g.name, askedType, noSource, false, nil)
		if said := serverError(err); said != nil && said.Code == amqp.AccessRefused && refusedName(said.Reason) == noSource {
			return nil
		}
		return err
	})
	if errors.Is(err, broker.ErrMissing) {
		return nil // what is not there is found out by asking for it
	}
	return err
}

// refusedName is the name that a refusal is about, or empty.
func refusedName(reason string) string {
	if m := refusal.FindStringSubmatch(reason); m != nil {
		return m[3]
	}
	return ""
}

// outlet is a publisher to one exchange.
type outlet struct {
	broker   *Broker
	exchange string
	copies   *publisher
	closing  atomic.Bool
	over     chan struct{} // closed when nothing of the outlet runs any more
	err      error         // written by run before over is closed
}

func newOutlet(b *Broker, exchange string, notify func(broker.Notice)) *outlet {
	if notify == nil {
		notify = func(broker.Notice) {}
	}
	o := &outlet{broker: b, exchange: exchange, over: make(chan struct{}), err: broker.ErrClosed}
	o.copies = newPublisher(b.ctx, b.publish, shipping{exchange}, notify, o.failed)
	return o
}

// run starts on c, so that a block there is told at once.
func (o *outlet) run(c *conn) {
	o.copies.attach(c)
	o.copies.run()
	o.broker.removeOutlet(o)
	close(o.over)
}

// failed is told by the publisher why it ended of itself. That one message is
// too large is no fault of the destination.
func (o *outlet) failed(err error) {
	if errors.Is(err, broker.ErrConfig) {
		err = classified(broker.ErrUnknown, "%s", textOf(err))
	}
	o.err = err
}

// Publish implements [broker.Outlet].
func (o *outlet) Publish(key string, m *broker.Message, done func(error)) {
	msg, err := o.encode(key, m)
	if err != nil {
		done(err)
		return
	}
	o.copies.publish(&job{exchange: o.exchange, key: key, msg: msg, done: done})
}

func (o *outlet) encode(key string, m *broker.Message) (amqp.Publishing, error) {
	msg, err := encode(m)
	if err != nil {
		return msg, classified(broker.ErrConfig, "the message cannot be sent: %v", err)
	}
	if len(m.Body) > maxBody {
		return msg, classified(broker.ErrConfig, "the message cannot be sent: it has %d bytes, and RabbitMQ takes %d", len(m.Body), maxBody)
	}
	for _, name := range [...]string{"CC", "BCC"} {
		if err := checkKeys(name, msg.Headers); err != nil {
			return msg, err
		}
	}
	if err := checkShort(key); err != nil {
		return msg, err
	}
	return msg, checkShort(shorts(m)...)
}

// checkKeys is for the headers that RabbitMQ takes more routing keys from. It
// closes the channel for one that is no list, which would leave what else is
// under way in doubt.
func checkKeys(name string, headers amqp.Table) error {
	v, there := headers[name]
	if _, list := v.([]any); list || !there {
		return nil
	}
	return classified(broker.ErrConfig, "the message cannot be sent: RabbitMQ reads routing keys from its header %q, "+
		"which must be a list of strings and is a %T: rename it", name, v)
}

// Done implements [broker.Outlet].
func (o *outlet) Done() <-chan struct{} { return o.over }

// Err implements [broker.Outlet].
func (o *outlet) Err() error {
	select {
	case <-o.over:
		return o.err
	default:
		return nil
	}
}

// Close implements [broker.Outlet]. It returns an error when something was cut
// off. What hangs in a write to a blocked connection is cut off with the
// connection, [Config].CallTimeout after the end of ctx.
func (o *outlet) Close(ctx context.Context) error {
	if o.closing.Swap(true) {
		return nil
	}
	o.copies.finish()
	select {
	case <-o.over:
	case <-ctx.Done():
	}
	o.copies.stop()
	<-o.over
	if n := o.copies.cutOff; n > 0 && ctx.Err() != nil && errors.Is(o.err, broker.ErrClosed) {
		return classified(ctx.Err(), "the outlet to %s was closed with %d messages under way: %v", exchangeText(o.exchange), n, ctx.Err())
	}
	return nil
}

func (b *Broker) addOutlet(o *outlet) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.outlets[o] = true
	return true
}

func (b *Broker) removeOutlet(o *outlet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.outlets, o)
}
