package embedded

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

const processTakes = 30 * time.Second // at most, for anything it is waited for

// process is this test binary in one of its roles.
type process struct {
	cmd    *exec.Cmd
	input  io.Closer
	lines  chan string // what it prints; closed when it has ended
	stderr bytes.Buffer
}

func startProcess(t *testing.T, role, dir string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0]), lines: make(chan string, 1<<16)}
	p.cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir)
	p.cmd.Stderr = &p.stderr
	input, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.input = input
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(output); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() { p.kill(t) })
	return p
}

// line returns the next line that it prints.
func (p *process) line(t *testing.T) string {
	t.Helper()
	select {
	case l, ok := <-p.lines:
		if !ok {
			t.Fatalf("it ended: %v\n%s", p.cmd.Wait(), p.stderr.String())
		}
		return l
	case <-time.After(processTakes):
		t.Fatalf("it prints nothing for %v", processTakes)
		return ""
	}
}

// kill ends it with SIGKILL and returns what else it had printed. On a process
// that was killed before, it does nothing.
func (p *process) kill(t *testing.T) (rest []string) {
	t.Helper()
	if p.cmd.ProcessState != nil {
		return nil
	}
	_ = p.cmd.Process.Kill()
	for l := range p.lines {
		rest = append(rest, l)
	}
	_ = p.cmd.Wait()
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && !status.Signaled() {
		t.Errorf("it ended before it was killed: %v\n%s", p.cmd.ProcessState, p.stderr.String())
	}
	return rest
}
