package sheets

import (
	"testing"

	"github.com/holdfast-mq/holdfast/outbox"
)

// TestConfirmNeverArrives has a broker under a memory alarm, which takes no
// publishes, and a relay that dies while it waits for a confirm.
func TestConfirmNeverArrives(t *testing.T) {
	const page = "confirm-never-arrives.md"
	d := newDesk(t)
	d.withStore()
	d.source(nil)
	d.exchange("shop", "topic")
	d.bind(queue, "orders.#", "shop")
	done := d.effects()
	d.consume(done.handler())
	relay := d.start(nil, "relay", "--leave-all", "--lease", "3s")
	relay.becomesReady()
	d.env["WATERMARK"], d.env["EVENT_TYPE"] = "0.6", "order.placed"

	if r := d.shell("rabbitmqctl set_vm_memory_high_watermark 0.00001"); r.code != 0 {
		t.Fatal(r)
	}
	t.Cleanup(func() { d.rmq.Ctl(t, "set_vm_memory_high_watermark", "0.6") })
	d.place(outbox.Message{Destination: "shop", Key: "orders.placed", Type: "order.placed", Payload: []byte("order")})
	d.eventually("the relay says that it is blocked", func() bool { _, body := relay.state(); return body["state"] == "blocked" })
	d.becomes(page, "Detection", 0, 1)
	if r := d.shell("holdfast doctor || true"); !contains(r.out, "HF040") {
		t.Errorf("the alarm is not found: %v", r)
	}
	relay.kill()

	next := d.start(nil, "relay", "--leave-all", "--lease", "3s")
	d.becomes(page, "Recovery", 0, 0)
	next.becomesReady()
	before := done.count("order")
	d.shows(page, "Recovery", 1, "orders.placed")
	d.want(page, "Recovery", 2, 0, "1")
	d.eventually("the row is published", func() bool { return done.count("order") > before })
}
