package sheets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/outbox"
)

const (
	shopSays = `{"version": 1, "service": "shop", "declares": {"exchanges": [{"name": "shop", "type": "topic", "durable": true}]},
		"publishes": [{"exchange": "shop", "key": "order.placed.v2", "type": "order.placed"}]}`
	billingSays = `{"version": 1, "service": "billing", "declares": {
		"exchanges": [{"name": "shop", "type": "topic", "durable": true}],
		"queues": [{"name": "orders.billing", "type": "quorum", "durable": true, "arguments": {"x-queue-type": "quorum"}}],
		"bindings": [{"source": "shop", "destination": "orders.billing", "key": "order.placed.v1"}]},
		"consumes": [{"queue": "orders.billing"}]}`
)

func TestBindingNothingPublishes(t *testing.T) {
	const page = "binding-nothing-publishes.md"
	d := newDesk(t)
	d.withStore()
	d.source(nil)
	d.exchange("shop", "topic")
	d.bind(queue, "order.placed.v1", "shop")
	manifests := t.TempDir()
	d.env["MANIFESTS"], d.env["EXCHANGE"], d.env["WRONG_KEY"] = manifests, "shop", "order.placed.v1"
	say := func(service, text string) {
		d.must(os.WriteFile(filepath.Join(manifests, service+".json"), []byte(text), 0o600))
	}
	say("shop", shopSays)
	say("billing", billingSays)

	d.want(page, "Detection", 0, 1, "order.placed.v1", "order.placed.v2")
	d.start(nil, "relay")
	d.place(outbox.Message{Destination: "shop", Key: "order.placed.v2", Type: "order.placed", Payload: []byte("order")})
	unrouted := func() int {
		return d.rows("SELECT count(*) FROM holdfast.outbox WHERE state = 'failed' AND class = 'unrouted'")
	}
	d.eventually("confirmed and not routed is a failed row", func() bool { return unrouted() == 1 })

	say("billing", strings.ReplaceAll(billingSays, "order.placed.v1", "order.placed.v2"))
	d.want(page, "Recovery", 0, 0)
	d.bind(queue, "order.placed.v2", "shop")
	d.want(page, "Recovery", 1, 0)
	d.want(page, "Recovery", 2, 0)
	done := d.effects()
	d.consume(done.handler())
	d.eventually("the order has come", func() bool { return done.count("order") == 1 })
}
