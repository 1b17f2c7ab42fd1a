package main

import (
	"context"
	stdsql "database/sql"
	"errors"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

// watermillBatch is where a larger one makes its forwarder no faster.
const watermillBatch = 1_000

// watermillForwarder is Watermill's outbox at its best setting that waits for confirms: the queue schema, which has no
// fence, deleting what is acknowledged, one channel that is kept.
func watermillForwarder(ctx context.Context, g *ground, queue string, rows int) (site, error) {
	db, err := stdsql.Open("pgx", g.postgres)
	if err != nil {
		return site{}, err
	}
	topic := unique()
	remove := func() {
		db.Close()
		g.dropTable(`"watermill_` + topic + `"`)
	}
	schema := sql.PostgreSQLQueueSchema{
		SubscribeBatchSize:  watermillBatch,
		GeneratePayloadType: func(string) string { return "BYTEA" },
	}
	subscriber, err := sql.NewSubscriber(sql.BeginnerFromStdSQL(db), sql.SubscriberConfig{
		SchemaAdapter: schema, OffsetsAdapter: sql.PostgreSQLQueueOffsetsAdapter{DeleteOnAck: true}, InitializeSchema: true,
	}, nil)
	if err == nil {
		err = subscriber.SubscribeInitialize(topic)
	}
	if err == nil {
		err = fillWatermill(ctx, db, schema, topic, queue, rows)
	}
	if err == nil {
		_, err = g.pool.Exec(ctx, `VACUUM ANALYZE "watermill_`+topic+`"`)
	}
	if err != nil {
		remove()
		return site{}, err
	}
	return site{func(ctx context.Context, m *meter) error { return forward(ctx, g, subscriber, topic, m) }, remove}, nil
}

func fillWatermill(ctx context.Context, db *stdsql.DB, schema sql.SchemaAdapter, topic, queue string, rows int) error {
	return fill(rows, func(_, n int) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after a commit it changes nothing
		table, err := sql.NewPublisher(sql.TxFromStdSQL(tx), sql.PublisherConfig{SchemaAdapter: schema}, nil)
		if err != nil {
			return err
		}
		all := make([]*message.Message, n)
		for i := range all {
			all[i] = message.NewMessage(watermill.NewUUID(), make([]byte, bodySize))
		}
		if err := forwarder.NewPublisher(table, forwarder.PublisherConfig{ForwarderTopic: topic}).Publish(queue, all...); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// counted tells the meter of each message that is confirmed. That it is then deleted in batches is not in the figures.
type counted struct {
	message.Publisher
	meter *meter
}

func (c counted) Publish(topic string, messages ...*message.Message) error {
	err := c.Publisher.Publish(topic, messages...)
	if err == nil {
		c.meter.add(len(messages))
	}
	return err
}

func forward(ctx context.Context, g *ground, from message.Subscriber, topic string, m *meter) error {
	config := amqp.NewDurableQueueConfig(g.amqp)
	config.Publish.ConfirmDelivery, config.Publish.ChannelPoolSize = true, 1
	to, err := amqp.NewPublisher(config, watermill.NopLogger{})
	if err != nil {
		return err
	}
	f, err := forwarder.NewForwarder(from, counted{to, m}, watermill.NopLogger{}, forwarder.Config{ForwarderTopic: topic})
	if err != nil {
		return errors.Join(err, to.Close())
	}
	err = f.Run(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, to.Close())
}
