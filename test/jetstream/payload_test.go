package jetstream_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

// TestLargestMessage: a message that the server just took leaves no room for a
// capture. It is kept, and stops nobody.
func TestLargestMessage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	s := p.consuming(p.open(), queue, 3)
	largest := strings.Repeat("x", int(p.conn.MaxPayload()))
	p.publish(largest, "good")
	list := []broker.Delivery{p.receive(s), p.receive(s)}
	for _, set := range []broker.Settlement{parked(list[0]), held(list[0]), delayed(list[0], rungs[0]), parked(list[0])} {
		wantErr(t, p.settle(list[0], set), broker.ErrRefused, "raise max_payload", "max_payload of 1048576")
	}
	p.mustSettle(list[1], done)
	p.publish("next")
	p.mustSettle(p.receives(s, "next")[0], done)
	p.must(s.Close(p.ctx()))
	d := p.receive(p.consuming(p.open(), queue, 1))
	if string(d.Message().Body) != largest {
		t.Error("the message is not what it was")
	}
}

// TestTextsAreCut: of the error is kept what there is room for.
func TestTextsAreCut(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	s := p.consuming(p.open(), queue, 1)
	whole := strings.Repeat("100 %\nnaïve – 漢字\t🎈 ", 200)
	for _, room := range []int{1700, 1800, 1900, 2300, 8 << 10} {
		p.publish(strings.Repeat("x", int(p.conn.MaxPayload())-room))
		d := p.receive(s)
		set := parked(d)
		set.Capture.Error, set.Capture.Cause = whole, whole
		p.mustSettle(d, set)
	}
	for _, m := range p.sifted(queue + ".parked") {
		if m.Capture == nil {
			t.Fatalf("no capture: %v", m.CaptureErr)
		}
		for _, text := range []string{m.Capture.Error, m.Capture.Cause} {
			if !utf8.ValidString(text) || !strings.HasPrefix(whole, text) {
				t.Errorf("of %d bytes of body: %q", len(m.Message.Body), text)
			}
		}
		t.Logf("%d bytes of body, %d of error, %d of cause", len(m.Message.Body), len(m.Capture.Error), len(m.Capture.Cause))
	}
}

// TestManyHeaders: JetStream stores 64 KiB of headers, also of a message that
// had as many itself.
func TestManyHeaders(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	s := p.consuming(p.open(), queue, 2)
	for _, size := range []int{65_200, 63_000} {
		_, err := p.js.PublishMsg(p.ctx(), &nats.Msg{Subject: "orders.in", Header: nats.Header{"Big": {strings.Repeat("x", size)}}, Data: []byte("b")})
		p.must(err)
	}
	list := p.receives(s, "b", "b")
	wantErr(t, p.settle(list[0], parked(list[0])), broker.ErrRefused, "JetStream takes")
	p.mustSettle(list[1], delayed(list[1], rungs[0]))
	p.mustSettle(list[0], done)
	d := p.receives(s, "b")[0]
	if got := d.Message().Headers["Big"]; got != strings.Repeat("x", 63_000) {
		t.Error("the header is not what it was")
	}
}
