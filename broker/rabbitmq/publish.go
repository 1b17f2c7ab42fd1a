package rabbitmq

import (
	"context"
	"fmt"
	"maps"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// Publish implements [broker.Publisher]. It waits for the confirm. Each call
// opens a channel of its own: it is for the few messages of an operator, and
// not for a producer.
//
// A target queue is reached as by [Broker.Sift], and not through the default
// exchange, which per-service permissions refuse.
func (b *Broker) Publish(ctx context.Context, target broker.Target, m *broker.Message) error {
	msg, err := publishing(target, m)
	if err != nil {
		return err
	}
	if err := b.begin(); err != nil {
		return err
	}
	defer b.work.Done()
	c, err := b.consume.get(ctx)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	copies := newPublisher(b.ctx, b.publish, copying{}, func(broker.Notice) {}, func(err error) { failed <- err })
	go copies.run()
	defer copies.stop()
	targets := newTargets(c, b.layout(c, broker.Subscription{}), copies)
	defer targets.remove(context.WithoutCancel(ctx))
	exchange, key, err := targets.route(ctx, broker.Action{Fresh: true, Target: target})
	if err != nil {
		return err
	}
	outcome := make(chan error, 1)
	copies.publish(&job{exchange: exchange, key: key, msg: msg, done: func(err error) { outcome <- err }})
	select {
	case err := <-outcome:
		select {
		case why := <-failed:
			return why // says more than that the outcome is unknown
		default:
			return err
		}
	case <-ctx.Done():
		return classified(broker.ErrUnknown, "the broker did not confirm the message in time: %v", ctx.Err())
	}
}

func publishing(target broker.Target, m *broker.Message) (amqp.Publishing, error) {
	msg, err := encode(m)
	if err != nil {
		return amqp.Publishing{}, classified(broker.ErrRefused, "the message cannot be sent: %v", err)
	}
	return msg, checkShort(append(shorts(m), target.Queue, target.Exchange, target.Key)...)
}

// encode makes what is published of a message, without what a broker wrote
// into it on its way here. It asks nothing of short strings ([checkShort]).
func encode(m *broker.Message) (amqp.Publishing, error) {
	headers, err := toTable(m.Headers)
	if err != nil {
		return amqp.Publishing{}, err
	}
	maps.DeleteFunc(headers, func(name string, _ any) bool { return brokers(name) })
	if size := tableSize(headers); size > restLimit-seqRoom {
		return amqp.Publishing{}, fmt.Errorf("its headers take %d bytes of %d", size, restLimit-seqRoom)
	}
	return amqp.Publishing{
		Headers: headers, Body: m.Body, MessageId: m.ID, CorrelationId: m.CorrelationID, ReplyTo: m.ReplyTo,
		ContentType: m.ContentType, ContentEncoding: m.ContentEncoding, Type: m.Type, AppId: m.AppID,
		Timestamp: m.Timestamp, DeliveryMode: amqp.Persistent,
	}, nil
}

func shorts(m *broker.Message) []string {
	return []string{m.ID, m.CorrelationID, m.ReplyTo, m.ContentType, m.ContentEncoding, m.Type, m.AppID}
}
