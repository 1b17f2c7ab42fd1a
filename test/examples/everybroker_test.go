package examples

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/test/natsserver"
)

// It runs here on the broker that needs no service; the others differ by the
// flag alone.
func TestEverybroker_runs_where_the_flag_says(t *testing.T) {
	server := natsserver.Start(t)
	publishOrders(t, server.URL())
	ctx := t.Context()
	cmd := exec.CommandContext(ctx, program(t, "examples/everybroker"), "-broker", server.URL(), "-queue", "ORDERS/billing")
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		w.Close()
		ended <- err
	}()
	watchdog := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	text, charged, parked := &strings.Builder{}, 0, 0
	for lines := bufio.NewScanner(r); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "charged on attempt 1") {
			charged++
		}
		if strings.Contains(lines.Text(), "reason=") {
			parked++
		}
		if charged == 2 && parked == 2 {
			_ = cmd.Process.Signal(syscall.SIGINT)
			parked++ // once
		}
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !strings.Contains(text.String(), "Done:2 Delayed:2 Held:0 Parked:2 Discarded:0 Released:0 InFlight:0") {
		t.Errorf("the books are others:\n%s", text)
	}
}

// publishOrders makes what the owner of the queue makes: four orders, of which
// one is declined and one cannot be read.
func publishOrders(t *testing.T, url string) {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "billing", AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"ID":1,"Amount":1}`, `{"ID":2,"Amount":-1}`, `{"ID":3`, `{"ID":4,"Amount":4}`} {
		if _, err := js.Publish(t.Context(), "orders.new", []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
}
