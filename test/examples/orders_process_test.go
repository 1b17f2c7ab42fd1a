package examples

import (
	"bufio"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// process is a program that is started again each time that it was killed.
type process struct {
	start   func() (*exec.Cmd, io.Reader, error)
	random  *rand.Rand
	address atomic.Pointer[string] // where it takes orders, since it last said so

	mu       sync.Mutex // of what follows
	cmd      *exec.Cmd
	killed   int
	stopping bool
	ended    chan error // gets how it ended by itself
}

// start starts the example. What it says on stderr is shown when the test
// fails.
func (s *shop) start(t *testing.T, seed uint64, args ...string) *process {
	t.Helper()
	said, err := os.Create(filepath.Join(t.TempDir(), "orders.log"))
	if err != nil {
		t.Fatal(err)
	}
	p := &process{random: rand.New(rand.NewPCG(seed, seed)), ended: make(chan error, 1)}
	p.start = func() (*exec.Cmd, io.Reader, error) {
		cmd := exec.Command(s.binary, append(args, "-lease", "2s")...)
		cmd.Env, cmd.Stderr = environ("DATABASE_URL="+s.database, "AMQP_URL="+s.amqp), said
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, nil, err
		}
		return cmd, out, cmd.Start()
	}
	var running sync.WaitGroup
	running.Go(p.keepRunning)
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL, true)
		running.Wait()
		text, _ := os.ReadFile(said.Name())
		_ = said.Close()
		if t.Failed() {
			t.Logf("orders %s said:\n%s", strings.Join(args, " "), text[max(0, len(text)-20_000):])
		}
	})
	return p
}

func (p *process) keepRunning() {
	for {
		cmd, err := p.launch()
		if cmd == nil {
			p.ended <- err
			return
		}
		err = cmd.Wait()
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if p.isStopping() || status.Signal() != syscall.SIGKILL {
			p.ended <- err
			return
		}
	}
}

// launch returns nil when the process is to stop or cannot start.
func (p *process) launch() (*exec.Cmd, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		return nil, nil
	}
	cmd, out, err := p.start()
	if err != nil {
		return nil, err
	}
	p.cmd = cmd
	go p.listen(out)
	return cmd, nil
}

func (p *process) listen(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "orders are taken at "); ok {
			url = strings.TrimSuffix(url, "/orders")
			p.address.Store(&url)
		}
	}
}

func (p *process) isStopping() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopping
}

// signal sends it to the process that runs now.
func (p *process) signal(s syscall.Signal, stopping bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopping = p.stopping || stopping
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // one that has ended already is an error of no interest
	}
}

func (p *process) up(t *testing.T) {
	t.Helper()
	testenv.Eventually(t, patience, "the service takes orders", func() bool { return p.address.Load() != nil })
}

// stop ends it as a deploy does, which is to end it in good order.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.signal(syscall.SIGTERM, true)
	select {
	case err := <-p.ended:
		if err != nil {
			t.Errorf("the process did not stop in good order: %v", err)
		}
	case <-time.After(patience):
		t.Error("the process does not stop")
	}
}

// storm kills processes at random.
type storm struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func beginStorm(victims ...*process) *storm {
	ctx, cancel := context.WithCancel(context.Background())
	s := &storm{cancel: cancel}
	for _, p := range victims {
		s.running.Go(func() { p.killAgainAndAgain(ctx) })
	}
	return s
}

func (s *storm) end() {
	s.cancel()
	s.running.Wait()
}

// killAgainAndAgain leaves it 1 to 5 s each time, of which a relay needs 2 to
// see that another one is dead.
func (p *process) killAgainAndAgain(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second + time.Duration(p.random.Int64N(int64(4*time.Second)))):
			p.signal(syscall.SIGKILL, false)
			p.killed++
		}
	}
}
