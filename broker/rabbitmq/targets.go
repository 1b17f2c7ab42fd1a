package rabbitmq

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// targets makes the ways that the copies of one sift take, each when it is
// first needed.
type targets struct {
	conn   *conn
	layout layout
	copies *publisher
	ways   map[way]string // exchange
	key    string         // of this sift's bindings
}

type way struct {
	queue string
	fresh bool
}

func newTargets(c *conn, l layout, copies *publisher) *targets {
	return &targets{conn: c, layout: l, copies: copies, ways: map[way]string{}, key: rand.Text()}
}

// carry publishes what a asks for. An error is of the way there, and nothing
// was published; what becomes of the copy is told to done.
func (t *targets) carry(ctx context.Context, l *letter, a broker.Action, done func(error)) error {
	if a.Verb == broker.VerbReply {
		return t.reply(l, a.Reply, done)
	}
	exchange, key, err := t.route(ctx, a)
	if err != nil {
		return err
	}
	m, err := t.copy(l, a)
	if err != nil {
		return err
	}
	t.copies.publish(&job{exchange: exchange, key: key, msg: m, done: done})
	return nil
}

func (t *targets) reply(l *letter, r *broker.Reply, done func(error)) error {
	if r == nil {
		return classified(broker.ErrRefused, "there is no reply to send")
	}
	m, err := replyTo(&l.msg, r)
	if err != nil {
		return err
	}
	t.copies.publish(&job{key: l.msg.ReplyTo, msg: m, done: done})
	return nil
}

func (t *targets) copy(l *letter, a broker.Action) (amqp.Publishing, error) {
	want := kept
	if a.Fresh {
		want = fresh
	}
	stamp, err := toTable(a.Stamp)
	if err != nil {
		return amqp.Publishing{}, classified(broker.ErrRefused, "the copy cannot be stamped: %v", err)
	}
	table := pick(l.msg.Headers, want)
	m := l.publishing(table, t.conn.at.user)
	maps.Copy(table, stamp)
	squeeze(table, restLimit-seqRoom)
	return m, nil
}

func (t *targets) route(ctx context.Context, a broker.Action) (exchange, key string, err error) {
	to := a.Target
	if to.Queue == "" {
		return to.Exchange, to.Key, checkShort(to.Exchange, to.Key)
	}
	w := way{to.Queue, a.Fresh}
	exchange, known := t.ways[w]
	if !known {
		if exchange, err = t.open(ctx, w); err != nil {
			return "", "", err
		}
		t.ways[w] = exchange
	}
	if !a.Fresh {
		// As from a rung or a hold: the key says which queue.
		return exchange, to.Queue, nil
	}
	return exchange, to.Key, checkShort(to.Key)
}

func checkShort(texts ...string) error {
	for _, s := range texts {
		if len(s) > maxShort {
			return classified(broker.ErrConfig, "%.40q… has more than %d bytes", s, maxShort)
		}
	}
	return nil
}

// open makes sure that the queue is there, and makes the way to it.
func (t *targets) open(ctx context.Context, w way) (string, error) {
	l := t.layout
	l.queue = w.queue
	d := &declarer{layout: l, ctx: ctx, conn: t.conn}
	defer d.close()
	if err := checkShort(l.replayExchange(w.queue)); err != nil {
		return "", err
	}
	if err := d.exists(); err != nil {
		return "", missingTarget(err)
	}
	if w.fresh {
		return l.replayExchange(w.queue), d.replay(t.key)
	}
	if err := d.shared(); err != nil {
		return "", err
	}
	return l.back(), d.bindSource()
}

// replay declares the temporary exchange. It goes with its last binding, and
// each sift has one of its own, so that two of them do not take it from each
// other.
func (d *declarer) replay(key string) error {
	name := d.replayExchange(d.queue)
	needs := []grant{{"configure", "exchange", name}}
	err := d.try(fmt.Sprintf("exchange %q", name), needs, func(ch *amqp.Channel) error {
		return ch.ExchangeDeclare(name, amqp.ExchangeFanout, false, true, false, false, nil)
	})
	if err != nil {
		return err
	}
	return d.bind(d.queue, key, name)
}

// remove takes the temporary bindings away. What cannot be removed goes with
// the broker's next start; nothing publishes there.
func (t *targets) remove(ctx context.Context) {
	for w, exchange := range t.ways {
		if !w.fresh {
			continue
		}
		l := t.layout
		l.queue = w.queue
		d := &declarer{layout: l, ctx: ctx, conn: t.conn}
		_ = d.try("", nil, func(ch *amqp.Channel) error { return ch.QueueUnbind(w.queue, t.key, exchange, nil) })
		d.close()
	}
}
