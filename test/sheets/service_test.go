package sheets

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// service is a process of `holdfast consume` or `holdfast relay`.
type service struct {
	d      *desk
	cmd    *exec.Cmd
	health string // address; set before ready is closed
	ready  chan struct{}

	mu   sync.Mutex
	said strings.Builder
}

var serving = regexp.MustCompile(`address=(\S+)`)

// start starts a process with a health server.
func (d *desk) start(env map[string]string, args ...string) *service {
	d.Helper()
	s := &service{d: d, ready: make(chan struct{})}
	s.cmd = exec.Command(filepath.Join(tools, "holdfast"), append(args, "--health-addr", "127.0.0.1:0")...)
	s.cmd.Env = d.environment()
	for name, value := range env {
		s.cmd.Env = append(s.cmd.Env, name+"="+value)
	}
	stderr, err := s.cmd.StderrPipe()
	d.must(err)
	d.must(s.cmd.Start())
	var reading sync.WaitGroup
	reading.Go(func() { s.read(stderr) })
	d.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		reading.Wait()
		_ = s.cmd.Wait()
		if d.Failed() {
			d.Logf("%v said:\n%.8000s", args, s.said.String())
		}
	})
	<-s.ready
	if s.health == "" {
		d.Fatalf("%v did not start:\n%s", args, s.said.String())
	}
	return s
}

func (s *service) read(stderr io.Reader) {
	told := sync.OnceFunc(func() { close(s.ready) })
	defer told()
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		s.mu.Lock()
		fmt.Fprintln(&s.said, lines.Text())
		s.mu.Unlock()
		if m := serving.FindStringSubmatch(lines.Text()); m != nil && strings.Contains(lines.Text(), "serving") && s.health == "" {
			s.health = m[1]
			told()
		}
	}
}

// kill ends the process as a crash does.
func (s *service) kill() { _ = s.cmd.Process.Kill() }

// state asks the service's own health handler.
func (s *service) state() (code int, body map[string]any) {
	s.d.Helper()
	resp, err := http.Get("http://" + s.health + "/health")
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	s.d.must(err)
	_ = json.Unmarshal(text, &body)
	return resp.StatusCode, body
}

func (s *service) becomesReady() {
	s.d.Helper()
	s.d.eventually("the service is ready", func() bool { code, _ := s.state(); return code == http.StatusOK })
}

// effects is a file to which a handler appends what it did.
type effects string

func (d *desk) effects() effects { return effects(filepath.Join(d.TempDir(), "effects")) }

// handler is a command that does the effect.
func (e effects) handler() string { return "cat >>" + string(e) + "; echo >>" + string(e) }

func (e effects) count(text string) int {
	content, _ := os.ReadFile(string(e))
	return strings.Count(string(content), text)
}

// consume starts the queue's consumer with this command as its handler.
func (d *desk) consume(command string, more ...string) *service {
	d.Helper()
	s := d.start(nil, append([]string{"consume", "--queue", queue, "--ladder", "none", "--exec", command}, more...)...)
	s.becomesReady()
	return s
}
