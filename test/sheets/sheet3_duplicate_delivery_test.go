package sheets

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/inbox"
)

const consumerName = "billing"

// handle runs a consumer inside the test whose handler works in a transaction.
func (d *desk) handle(apply func(ctx context.Context, tx pgx.Tx, m *holdfast.Message) error) *holdfast.Consumer {
	d.Helper()
	rmq, err := rabbitmq.Open(d.Context(), rabbitmq.Config{URL: d.url})
	d.must(err)
	c, err := holdfast.NewConsumer(rmq, holdfast.ConsumerConfig{
		Queue: queue, Policy: holdfast.Policy{Ladder: none},
		Handler: func(ctx context.Context, m *holdfast.Message) error {
			return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error { return apply(ctx, tx, m) })
		},
	})
	d.must(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	d.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			d.Errorf("the consumer: %v", err)
		}
		_ = rmq.Close()
	})
	d.eventually("the consumer is attached", func() bool { return c.Health().Ready() })
	return c
}

func (d *desk) rows(query string, args ...any) (n int) {
	d.Helper()
	d.must(d.pool.QueryRow(d.Context(), query, args...).Scan(&n))
	return n
}

func (d *desk) exec(statement string) {
	d.Helper()
	_, err := d.pool.Exec(d.Context(), statement)
	d.must(err)
}

func TestDuplicateDelivery(t *testing.T) {
	const page = "duplicate-delivery.md"
	d := newDesk(t)
	d.withStore()
	d.source(nil)
	d.exec("CREATE TABLE bookings (id text)")
	c := d.handle(func(ctx context.Context, tx pgx.Tx, m *holdfast.Message) error {
		_, err := inbox.Once(ctx, layout().Tx(tx), consumerName, inbox.Of(m), func(ctx context.Context) error {
			_, err := tx.Exec(ctx, "INSERT INTO bookings VALUES ($1)", m.ID)
			return err
		})
		return err
	})
	handled := func(n int64) {
		t.Helper()
		d.eventually("all were handled", func() bool { return c.Books().Done == n })
	}

	d.publish("", queue, "order-1", "order")
	d.publish("", queue, "order-1", "order")
	handled(2)
	d.want(page, "Detection", 0, 0)
	if n := d.rows("SELECT count(*) FROM bookings"); n != 1 {
		t.Errorf("the effect is there %d times", n)
	}
	if n := d.rows("SELECT duplicates FROM holdfast.inbox WHERE id = 'order-1'"); n != 1 {
		t.Errorf("%d duplicates are counted", n)
	}

	// order-0 was applied before there was an inbox.
	d.exec("INSERT INTO bookings VALUES ('order-0')")
	d.env["CONSUMER"], d.env["MESSAGE_ID"] = consumerName, "order-0"
	d.want(page, "Recovery", 0, 0)
	d.publish("", queue, "order-0", "order")
	handled(3)
	if n := d.rows("SELECT count(*) FROM bookings WHERE id = 'order-0'"); n != 1 {
		t.Errorf("the effect is there %d times", n)
	}
}
