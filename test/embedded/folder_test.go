package embedded

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/internal/embedded"
)

// listen has the folder, and listens, until it is killed.
func listen(dir string) error {
	s, err := embedded.Start(dir, embedded.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println(s.URL())
	return untilInputEnds()
}

func TestFolder_of_another_process(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, "listen", dir)
	url := p.line(t)

	_, err := app.Open(context.Background(), app.Config{URL: "embedded:" + dir})
	var in *embedded.InUseError
	if !errors.Is(err, embedded.ErrInUse) || !errors.As(err, &in) || !errors.Is(err, broker.ErrUnreachable) {
		t.Fatalf("the folder of another process: %v", err)
	}
	if in.PID != p.cmd.Process.Pid || in.URL != url {
		t.Errorf("the error says process %d with %q; it is %d with %q", in.PID, in.URL, p.cmd.Process.Pid, url)
	}
	nc, err := nats.Connect(in.URL)
	if err != nil {
		t.Fatalf("the URL of the error does not lead to the other process: %v", err)
	}
	nc.Close()

	p.kill(t)
	s, err := embedded.Start(dir, embedded.Options{})
	if err != nil {
		t.Fatalf("a dead process still has the folder: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestFolder_of_a_process_that_stopped ends the other process in order.
func TestFolder_of_a_process_that_stopped(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, "listen", dir)
	p.line(t)
	if err := p.input.Close(); err != nil {
		t.Fatal(err)
	}
	for range p.lines {
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, p.stderr.String())
	}
	s, err := embedded.Start(dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
