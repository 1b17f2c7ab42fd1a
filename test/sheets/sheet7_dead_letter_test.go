package sheets

import (
	"os"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// TestDeadLetterAccumulation is of a service that is not Holdfast's: it rejects,
// and a dead-letter exchange without a queue takes it.
func TestDeadLetterAccumulation(t *testing.T) {
	const page = "dead-letter-accumulation.md"
	d := newDesk(t)
	d.env["DEAD_EXCHANGE"], d.env["DEAD_QUEUE"] = "orders.dlx", "orders.dlq"
	d.exchange("orders.dlx", "direct")
	d.source(amqp.Table{"x-dead-letter-exchange": "orders.dlx", "x-dead-letter-routing-key": "dead-letter"})
	d.want(page, "Detection", 0, 1, "orders.dlx")
	d.publish("", queue, "0", "order 0")
	d.reject()

	d.becomes(page, "Recovery", 0, 0)
	if n := d.depth("orders.dlq"); n != 0 {
		t.Errorf("%d messages came out of nowhere", n)
	}
	d.publish("", queue, "1", "order 1")
	d.publish("", queue, "2", "order 2")
	d.reject()
	d.reject()
	d.eventually("rejected messages are kept", func() bool { return d.depth("orders.dlq") == 2 })
	d.want(page, "Recovery", 1, 0, "2 waiting", "rejected")

	done := d.effects()
	d.consume(done.handler())
	d.want(page, "Recovery", 2, 0)
	d.eventually("what was replayed is handled", func() bool { return done.count("order") == 2 })

	d.publish("orders.dlx", "dead-letter", "3", "the producer's defect")
	r := d.shell("cd " + t.TempDir() + "\n" + block(t, page, "Recovery", 3) + "\ncat dead-letters.jsonl")
	if r.code != 0 || !strings.Contains(r.out, `"3"`) || d.depth("orders.dlq") != 0 {
		t.Errorf("it was not exported and removed: %v", r)
	}
	_ = os.Remove("dead-letters.jsonl")
}

// reject takes one message and rejects it, as a consumer does that cannot use it.
func (d *desk) reject() {
	d.Helper()
	d.eventually("there is a message", func() bool {
		m, ok, err := d.ch.Get(queue, false)
		d.must(err)
		if ok {
			d.must(m.Nack(false, false))
		}
		return ok
	})
}
