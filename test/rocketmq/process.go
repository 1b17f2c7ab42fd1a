package rocketmq

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// process is one of a server's.
type process struct {
	name  string
	log   string
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
}

// run starts a Java program of the jars with a heap of so many MiB. Its logs
// and all that it keeps are in the server's folder.
func (s *Server) run(t testing.TB, name, class string, heap int) *process {
	t.Helper()
	p := &process{name: name, log: filepath.Join(s.dir, name+".log"), ended: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the process has its own
	p.cmd = exec.Command("java", fmt.Sprintf("-Xms%dm", heap/2), fmt.Sprintf("-Xmx%dm", heap), "-XX:+UseSerialGC",
		"-XX:TieredStopAtLevel=1", "-XX:MaxDirectMemorySize=2g", "-Drocketmq.home.dir="+s.dir, "-Duser.home="+s.dir,
		"-cp", filepath.Join(s.jars, "*"), class, "-c", filepath.Join(s.dir, name+".conf"))
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended is in the log
	}()
	return p
}

// check ends the test when the process has ended by itself.
func (p *process) check(t testing.TB) {
	t.Helper()
	select {
	case <-p.ended:
		t.Fatalf("%s ended at its start", p.name)
	default:
	}
}

// end ends the process with a signal. One that does not obey is killed, and
// that is a failure.
func (p *process) end(t testing.TB, signal os.Signal) {
	t.Helper()
	_ = p.cmd.Process.Signal(signal) // an error says that it has ended already
	select {
	case <-p.ended:
	case <-time.After(stopTakes):
		t.Errorf("%s did not end within %v of %v", p.name, stopTakes, signal)
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

func awaitListening(t testing.TB, p *process, addr string) {
	t.Helper()
	testenv.Eventually(t, startTakes, p.name+" listens at "+addr, func() bool {
		p.check(t)
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
}
