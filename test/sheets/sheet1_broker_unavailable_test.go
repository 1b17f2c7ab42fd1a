package sheets

import (
	"net/http"
	"testing"

	"github.com/holdfast-mq/holdfast/outbox"
)

func TestBrokerUnavailable(t *testing.T) {
	const page = "broker-unavailable.md"
	d := newDesk(t)
	d.withStore()
	d.source(nil)
	d.exchange("shop", "topic")
	d.bind(queue, "orders.#", "shop")
	done := d.effects()
	consumer := d.consume(done.handler())
	relay := d.start(nil, "relay")
	relay.becomesReady()

	d.rmq.Kill(t)
	d.eventually("readiness says what is the matter", func() bool {
		code, _ := consumer.state()
		return code == http.StatusServiceUnavailable
	})
	d.want(page, "Detection", 0, 3)
	for range 20 { // business goes on
		d.place(outbox.Message{Destination: "shop", Key: "orders.placed", Type: "order.placed", Payload: []byte("order")})
	}

	d.rmq.Start(t)
	d.becomes(page, "Recovery", 0, 0)
	d.eventually("everything that waited has come", func() bool { return done.count("order") == 20 })
	if r := d.want(page, "Recovery", 1, 0, "published"); contains(r.out, "failed", "pending") {
		t.Errorf("rows were failed by an outage, or wait: %v", r)
	}
}
