package awssqs

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

const (
	startTakes = 2 * time.Minute // on a machine that does much else
	stopTakes  = 20 * time.Second
	logLines   = 40
)

// server is an emulator in a process of its own. The tests share it, since to
// start one takes longer than most of them, and [TestMain] ends it.
type server struct {
	name string
	url  string
	cmd  *exec.Cmd
	log  bytes.Buffer
	dead chan struct{} // closed when it has ended
}

// servers are those that run.
var servers struct {
	mu   sync.Mutex
	list []*server
}

// start starts a server, without waiting until it answers.
func start(name, url, program string, args ...string) (*server, error) {
	s := &server{name: name, url: url, cmd: exec.Command(program, args...), dead: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		defer close(s.dead)
		_ = s.cmd.Wait() // how it ended is in the log
	}()
	servers.mu.Lock()
	defer servers.mu.Unlock()
	servers.list = append(servers.list, s)
	return s, nil
}

// shared is a server that is started by the first test that asks for it.
type shared struct {
	once   sync.Once
	server *server
	err    error
}

func (s *shared) get(t *testing.T, run func() (*server, error)) *server {
	t.Helper()
	s.once.Do(func() { s.server, s.err = run() })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

// await returns when the server answers at a path.
func (s *server) await(t *testing.T, path string) {
	t.Helper()
	testenv.Eventually(t, startTakes, s.name+" answers", func() bool {
		select {
		case <-s.dead:
			t.Fatalf("%s ended at its start:\n%s", s.name, s.tail())
		default:
		}
		response, err := http.Get(s.url + path)
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	})
}

// endServers ends them, and shows what they logged if a test has failed.
func endServers(code int) {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	for _, s := range servers.list {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, s := range servers.list {
		select {
		case <-s.dead:
		case <-time.After(stopTakes):
			_ = s.cmd.Process.Kill()
			<-s.dead
		}
		if code != 0 {
			fmt.Fprintf(os.Stderr, "the end of what %s logged:\n%s\n", s.name, s.tail())
		}
	}
}

// tail is the end of the log of a server that has ended.
func (s *server) tail() string {
	lines := strings.Split(strings.TrimSpace(s.log.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-logLines):], "\n")
}

// cached returns the folder in the cache where a script has put the version of
// an emulator that a file names, or why it cannot be used. probe is a file that
// is in it.
func cached(name, file, version, probe string) (dir, reason string) {
	cache := os.Getenv("HOLDFAST_CACHE")
	if cache == "" {
		home, err := os.UserCacheDir()
		if err != nil {
			return "", "there is no cache folder"
		}
		cache = filepath.Join(home, "holdfast")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err.Error()
	}
	found := regexp.MustCompile(version).FindSubmatch(text)
	if found == nil {
		return "", file + " names no version"
	}
	dir = filepath.Join(cache, name+"-"+string(found[1]))
	if there, err := filepath.Glob(filepath.Join(dir, probe)); err != nil || len(there) == 0 {
		return "", "it is not in the cache (scripts/" + name + ")"
	}
	return dir, ""
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
