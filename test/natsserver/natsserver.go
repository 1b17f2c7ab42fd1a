package natsserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

const (
	tool = "github.com/nats-io/nats-server/v2"

	startTakes = 30 * time.Second // at most, on a machine that does much else
	stopTakes  = 10 * time.Second
	logTail    = 8 << 10 // bytes
)

// Server is a nats-server that belongs to one test. Its methods may be called
// by one goroutine at a time, except for URL.
type Server struct {
	dir  string
	port string // of the first start, kept by the later ones

	process *exec.Cmd
	ended   <-chan struct{} // closed when process has ended
}

// Start starts a server and returns when JetStream answers. It is stopped at
// the end of the test, and the end of its log is shown if the test failed.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{dir: t.TempDir(), port: "-1"}
	t.Cleanup(func() { s.finish(t) })
	s.start(t)
	return s
}

// URL is where clients connect. It stays the same over restarts.
func (s *Server) URL() string { return "nats://127.0.0.1:" + s.port }

// Kill ends the server with SIGKILL and returns when it is gone.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.end(t, syscall.SIGKILL)
}

// Restart stops the server in good order, unless it was killed before, and
// starts it again on the same port and with the same data. It returns when
// JetStream answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.end(t, syscall.SIGTERM)
	s.start(t)
}

// program builds the server once for all tests of this process.
var program = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "tool", "-n", tool) // builds it and prints where it is
	var stderr strings.Builder
	cmd.Stderr = &stderr
	path, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go tool -n %s: %w\n%s", tool, err, stderr.String())
	}
	return strings.TrimSpace(string(path)), nil
})

func (s *Server) start(t testing.TB) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(s.file("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(path, "--addr", "127.0.0.1", "--port", s.port, "--ports_file_dir", s.dir,
		"--jetstream", "--store_dir", s.file("data"))
	cmd.Stdout, cmd.Stderr = log, log
	if s.ended, err = launch(cmd); err != nil {
		t.Fatal(err)
	}
	s.process = cmd
	s.awaitReady(t)
}

// awaitReady waits until JetStream answers: a server takes connections before
// it has read what it stored.
func (s *Server) awaitReady(t testing.TB) {
	t.Helper()
	testenv.Eventually(t, startTakes, "JetStream answers", func() bool {
		select {
		case <-s.ended:
			t.Fatal("nats-server ended at its start")
		default:
		}
		return s.learnPort() && answers(s.URL())
	})
}

func answers(url string) bool {
	conn, err := nats.Connect(url)
	if err != nil {
		return false
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err = js.AccountInfo(ctx)
	return err == nil
}

// end ends the process with a signal. One that does not obey is killed, and
// that is a failure.
func (s *Server) end(t testing.TB, signal os.Signal) {
	t.Helper()
	_ = s.process.Process.Signal(signal) // an error says that it has ended already
	select {
	case <-s.ended:
	case <-time.After(stopTakes):
		t.Errorf("nats-server did not end within %v of %v", stopTakes, signal)
		_ = s.process.Process.Kill()
		<-s.ended
	}
}

func (s *Server) finish(t testing.TB) {
	if s.process != nil {
		s.end(t, syscall.SIGTERM)
	}
	if !t.Failed() {
		return
	}
	log, err := os.ReadFile(s.file("log"))
	if err != nil {
		t.Logf("nats-server has no log: %v", err)
		return
	}
	t.Logf("the end of nats-server's log:\n%s", log[max(0, len(log)-logTail):])
}

func (s *Server) file(name string) string { return filepath.Join(s.dir, name) }
