package rocketmq

import (
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

const (
	version = "5.3.3"

	startTakes = 90 * time.Second // at most, on a machine that does much else
	stopTakes  = time.Minute
	logTail    = 8 << 10 // bytes
)

// Server is a cluster of one broker that belongs to one test. Its methods may
// be called by one goroutine at a time, except for URL.
type Server struct {
	jars         string
	dir          string
	nameAddr     string
	brokerAddr   string
	names, store *process
}

// Start starts a name server and a broker and returns when the broker is
// known to the name server. They are stopped at the end of the test, and the
// end of their logs is shown if it failed. Where they cannot run, that is
// recorded and the test ends.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	jars, reason := findJars()
	if reason != "" {
		testenv.Skip(t, "rocketmq", reason)
	}
	s := &Server{jars: jars, dir: t.TempDir(), nameAddr: address(freePort(t)), brokerAddr: address(freePort(t))}
	t.Cleanup(func() { s.finish(t) })
	s.configure(t, settings)
	s.names = s.run(t, "namesrv", "org.apache.rocketmq.namesrv.NamesrvStartup", 128)
	awaitListening(t, s.names, s.nameAddr)
	s.startBroker(t)
	return s
}

// URL is where clients connect. It stays the same over restarts.
func (s *Server) URL() string { return "rocketmq://" + s.nameAddr }

// Kill ends the broker with SIGKILL and returns when it is gone.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.store.end(t, syscall.SIGKILL)
}

// Restart stops the broker in good order, unless it was killed before, and
// starts it again on the same port and with the same data.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.store.end(t, syscall.SIGTERM)
	s.startBroker(t)
}

// findJars returns where the jars are, or why the server cannot run.
func findJars() (dir, reason string) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", "java is not installed"
	}
	cache := os.Getenv("HOLDFAST_CACHE")
	if cache == "" {
		home, err := os.UserCacheDir()
		if err != nil {
			return "", "there is no cache folder"
		}
		cache = filepath.Join(home, "holdfast")
	}
	dir = filepath.Join(cache, "rocketmq-"+version)
	if found, err := filepath.Glob(filepath.Join(dir, "rocketmq-broker-*.jar")); err != nil || len(found) == 0 {
		return "", "its jars are not in the cache (scripts/rocketmq)"
	}
	return dir, ""
}

// configure writes the settings of both. Nothing is made by itself, so that a
// test sees what is missing.
func (s *Server) configure(t testing.TB, settings []string) {
	t.Helper()
	_, namePort, _ := net.SplitHostPort(s.nameAddr)
	_, brokerPort, _ := net.SplitHostPort(s.brokerAddr)
	store := filepath.Join(s.dir, "store")
	lines := append([]string{
		"brokerClusterName=test", "brokerName=broker-a", "brokerId=0", "brokerIP1=127.0.0.1", "bindAddress=127.0.0.1",
		"listenPort=" + brokerPort, "namesrvAddr=" + s.nameAddr, "storePathRootDir=" + store,
		"storePathCommitLog=" + filepath.Join(store, "commitlog"),
		"mappedFileSizeCommitLog=67108864", "mappedFileSizeConsumeQueue=600000", "mappedFileSizeTimerLog=1048576",
		// Each of its threads keeps 4 MiB for messages.
		"sendMessageThreadPoolNums=2", "pullMessageThreadPoolNums=4", "ackMessageThreadPoolNums=2", "adminBrokerThreadPoolNums=4",
		"autoCreateTopicEnable=false", "autoCreateSubscriptionGroup=false",
	}, settings...)
	for name, content := range map[string]string{
		"namesrv.conf": "listenPort=" + namePort + "\nbindAddress=127.0.0.1\n",
		"broker.conf":  strings.Join(lines, "\n") + "\n",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *Server) startBroker(t testing.TB) {
	t.Helper()
	s.store = s.run(t, "broker", "org.apache.rocketmq.broker.BrokerStartup", 384)
	awaitListening(t, s.store, s.brokerAddr)
	testenv.Eventually(t, startTakes, "the broker is known to the name server", func() bool {
		s.store.check(t)
		return s.known()
	})
}

// known reports whether the name server leads to the broker.
func (s *Server) known() bool {
	c, err := connect(s.nameAddr)
	if err != nil {
		return false
	}
	defer c.close()
	_, err = c.ask(askRoute, fields{"topic": "TBW102"}, nil)
	if err != nil {
		_, err = c.ask(askRoute, fields{"topic": "test"}, nil) // the cluster's own
	}
	return err == nil
}

func (s *Server) finish(t testing.TB) {
	for _, p := range []*process{s.store, s.names} {
		if p == nil {
			continue
		}
		p.end(t, syscall.SIGKILL) // nobody reads what it stored
		if t.Failed() {
			t.Logf("the end of %s:\n%s", p.log, tail(p.log))
		}
	}
}

func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-logTail):])
}

// freePort is a port whose neighbours are free too: a broker takes the one
// after its own, and the one two before. It is below those that the system
// gives to outgoing connections, which could take it while a server restarts.
func freePort(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := 20000 + rand.IntN(12000)
		if isFree(port-2) && isFree(port) && isFree(port+1) {
			return port
		}
	}
	t.Fatal("no free port has free neighbours")
	return 0
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
