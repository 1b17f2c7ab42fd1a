package sheets

import "testing"

func TestPoisonMessage(t *testing.T) {
	const page = "poison-message.md"
	d := newDesk(t)
	d.source(nil)
	done := d.effects()
	// The consumer's defect: it knows no order without a price.
	broken := d.consume(`body=$(cat); case $body in *price*) echo "$body" >>` + string(done) + `;; *) exit 65;; esac`)
	for _, body := range []string{"order 1 price 3", "order 2 free", "order 3 free", "order 4 price 9"} {
		d.publish("", queue, body[:7], body)
	}
	d.eventually("its neighbours are handled", func() bool { return done.count("price") == 2 })
	d.eventually("the poison is parked", func() bool { return d.depth(queue+".parked") == 2 })
	d.want(page, "Detection", 0, 0, "2 waiting", "verdict")
	broken.kill()

	mended := d.consume(done.handler())
	d.want(page, "Recovery", 0, 0, "2")
	d.want(page, "Recovery", 1, 0)
	d.eventually("the poison was handled", func() bool { return done.count("free") == 2 })
	d.want(page, "Recovery", 2, 0, "0 waiting")
	mended.becomesReady()
}
