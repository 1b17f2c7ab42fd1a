package jetstream_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-mq/holdfast/internal/embedded"
)

const serveDir = "HOLDFAST_TEST_SERVE_DIR"

// TestMain lets this program be a server, too: one that a test can freeze
// must be another process, and one whose id the test knows.
func TestMain(m *testing.M) {
	if dir := os.Getenv(serveDir); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve runs a server until its standard input ends.
func serve(dir string) error {
	s, err := embedded.Start(dir, embedded.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	fmt.Println(s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return s.Close()
}

// child is a server that can be frozen.
type child struct {
	url     string
	process *os.Process
}

func startChild(t *testing.T) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveDir+"="+t.TempDir())
	cmd.Stderr = os.Stderr
	stop, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{process: cmd.Process}
	t.Cleanup(func() {
		c.freeze(t, false)
		stop.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c.url = strings.TrimSpace(line)
	return c
}

// freeze stops the process where it is, or lets it go on.
func (c *child) freeze(t *testing.T, on bool) {
	t.Helper()
	signal := syscall.SIGCONT
	if on {
		signal = syscall.SIGSTOP
	}
	if err := c.process.Signal(signal); err != nil {
		t.Error(err)
	}
}
