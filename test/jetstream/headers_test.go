package jetstream_test

import (
	"bufio"
	"fmt"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
)

// publishRaw publishes with headers as another client may write them, and
// waits until the stream has the message.
func (p *place) publishRaw(stream, subject, headers, body string) {
	p.Helper()
	before := p.stored(stream)
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "nats://"))
	p.must(err)
	defer conn.Close()
	header := "NATS/1.0\r\n" + headers + "\r\n"
	_, err = fmt.Fprintf(conn, "CONNECT {\"headers\":true,\"verbose\":false}\r\nHPUB %s %d %d\r\n%s%s\r\nPING\r\n",
		subject, len(header), len(header)+len(body), header, body)
	p.must(err)
	r := bufio.NewReader(conn)
	for line := ""; !strings.HasPrefix(line, "PONG"); {
		line, err = r.ReadString('\n')
		p.must(err)
	}
	p.wantStored(stream, before+1)
}

// TestForeignHeaders: headers that the Go client would not write itself do not
// keep a message from being retried and parked, and are the same after it.
func TestForeignHeaders(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	s := p.consuming(p.open(), queue, 1)
	p.publishRaw("ORDERS", "orders.in", "a/b: 1\r\na/b: 2\r\ntrailing: x \r\nplain: 3\r\n", "body")
	want := map[string]any{"a/b": []string{"1", "2"}, "trailing": "x ", "plain": "3"}
	d := p.receives(s, "body")[0]
	if got := d.Message().Headers; !reflect.DeepEqual(got, want) {
		t.Fatalf("it came with %q", got)
	}
	p.mustSettle(d, delayed(d, rungs[0]))
	d = p.receives(s, "body")[0]
	p.wantHeaders(d.Message().Headers, want)
	p.mustSettle(d, parked(d))
	for _, m := range p.sifted(queue + ".parked") {
		p.wantHeaders(m.Message.Headers, want)
	}
	p.wantStored(parkedStream, 1)
}

// wantHeaders wants these beside what Holdfast has added.
func (p *place) wantHeaders(got, want map[string]any) {
	p.Helper()
	own := map[string]any{}
	for name, v := range got {
		if !strings.HasPrefix(name, broker.HeaderPrefix) {
			own[name] = v
		}
	}
	if !reflect.DeepEqual(own, want) {
		p.Errorf("the headers are %q, want %q", own, want)
	}
}
