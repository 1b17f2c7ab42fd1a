package sheets

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/inbox"
)

// TestOutOfOrder has an order that can only be shipped once it is paid.
func TestOutOfOrder(t *testing.T) {
	const page = "out-of-order.md"
	d := newDesk(t)
	d.withStore()
	d.source(nil)
	d.exec("CREATE TABLE orders (state text)")
	d.exec("INSERT INTO orders VALUES ('placed')")
	c := d.handle(func(ctx context.Context, tx pgx.Tx, m *holdfast.Message) error {
		tag, err := tx.Exec(ctx, "UPDATE orders SET state = 'shipped' WHERE state = 'paid'")
		if err == nil && tag.RowsAffected() == 0 {
			err = inbox.SetAside(ctx, layout().Tx(tx), consumerName, m, "invalid_state", "not paid yet")
		}
		return err
	})
	d.env["CONSUMER"] = consumerName
	shipped := func() int { return d.rows("SELECT count(*) FROM orders WHERE state = 'shipped'") }

	d.publish("", queue, "shipped-1", "the parcel is on its way")
	d.eventually("the event is acknowledged", func() bool { return c.Books().Done == 1 })
	d.want(page, "Detection", 0, 0, "invalid_state", consumerName)
	d.want(page, "Recovery", 0, 0, "shipped-1")
	if shipped() != 0 {
		t.Error("it was applied in the wrong state")
	}

	d.want(page, "Recovery", 1, 0) // too early: nothing is lost by trying
	d.eventually("it was set aside again", func() bool { return c.Books().Done == 2 })
	d.want(page, "Detection", 0, 0, "invalid_state")

	d.exec("UPDATE orders SET state = 'paid'")
	d.want(page, "Recovery", 1, 0)
	d.eventually("it was applied", func() bool { return shipped() == 1 })
	if r := d.want(page, "Detection", 0, 0); contains(r.out, "invalid_state") {
		t.Errorf("it is still set aside: %v", r)
	}
}
