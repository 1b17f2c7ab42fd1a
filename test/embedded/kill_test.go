package embedded

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/internal/embedded"
)

const (
	stream  = "ORDERS"
	subject = "orders.new"

	publishers = 8
	perKill    = 2_000 // acknowledged messages before each kill
	kills      = 3
)

// publishOrders publishes until it is killed, and prints the body of each
// message that the broker acknowledged.
func publishOrders(dir string) error {
	s, js, err := open(dir, embedded.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := js.CreateOrUpdateStream(context.Background(), streamConfig()); err != nil {
		return err
	}
	failed := make(chan error)
	for i := range publishers {
		go func() {
			for n := 0; ; n++ {
				body := fmt.Sprintf("%d %d %d", os.Getpid(), i, n)
				if _, err := js.Publish(context.Background(), subject, []byte(body)); err != nil {
					failed <- err
					return
				}
				fmt.Println(body) // one write: a kill leaves whole lines
			}
		}()
	}
	go func() { failed <- untilInputEnds() }()
	return <-failed
}

func untilInputEnds() error {
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func streamConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: stream, Subjects: []string{"orders.>"}}
}

// open starts a server and connects to it.
func open(dir string, o embedded.Options) (*embedded.Server, jetstream.JetStream, error) {
	s, err := embedded.Start(dir, o)
	if err != nil {
		return nil, nil, err
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc)
	return s, js, err
}

// TestKill_loses_nothing_that_was_acknowledged kills a publisher again and
// again, each time in the middle of its work and on the folder that the one
// before left behind.
func TestKill_loses_nothing_that_was_acknowledged(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[string]bool{}
	for range kills {
		p := startProcess(t, "publish", dir)
		for range perKill {
			acknowledged[p.line(t)] = true
		}
		for _, l := range p.kill(t) {
			acknowledged[l] = true
		}
	}
	s, js, err := open(dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	stored := readStored(t, js)
	lost := 0
	for body := range acknowledged {
		if !stored[body] {
			lost++
		}
	}
	t.Logf("%d kills: %d acknowledged, %d stored, %d lost", kills, len(acknowledged), len(stored), lost)
	if lost > 0 || len(acknowledged) < kills*perKill {
		t.Errorf("%d of %d acknowledged messages are lost", lost, len(acknowledged))
	}
}

// readStored reads the bodies of all messages of the stream.
func readStored(t *testing.T, js jetstream.JetStream) map[string]bool {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]bool{}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := s.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatalf("message %d: %v", seq, err)
		}
		stored[string(m.Data)] = true
	}
	return stored
}
