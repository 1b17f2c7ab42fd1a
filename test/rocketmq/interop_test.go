package rocketmq

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
)

// TestInterop proves the driver's protocol on RocketMQ's own tools: what they
// send is read, and what the driver parks is what they show.
func TestInterop(t *testing.T) {
	s := newScene(t, Start(t))
	queue := s.newQueue(t)
	s.server.admin(t, "sendMessage", "-t", "T1", "-p", "naïve – 漢字", "-k", "order-1", "-c", "placed")
	b := s.open(t)
	defer closeBroker(t, b)
	d := receive(t, consume(t, b, queue, 1))
	m := d.Message()
	if string(m.Body) != "naïve – 漢字" || m.Headers["KEYS"] != "order-1" || m.ID == "" || m.Timestamp.IsZero() ||
		m.Origin != (broker.Origin{Exchange: "T1", Key: "placed", Queue: queue}) {
		t.Errorf("%+v", m)
	}
	settle(t, d, broker.Settlement{Fate: broker.FatePark, Capture: capture(queue)})
	out := s.server.admin(t, "consumeMessage", "-t", parked(queue), "-c", "1")
	for _, want := range []string{"naïve – 漢字", broker.HeaderID + "=c1", "KEYS=order-1", "TAGS=placed", m.ID} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in what RocketMQ shows:\n%.2000s", want, out)
		}
	}
}

// admin runs one of RocketMQ's own commands.
func (s *Server) admin(t *testing.T, args ...string) string {
	t.Helper()
	java := []string{
		"-Duser.home=" + s.dir, "-Drocketmq.home.dir=" + s.dir, "-Dfile.encoding=UTF-8", "-Dsun.stdout.encoding=UTF-8",
		"-cp", filepath.Join(s.jars, "*"), "org.apache.rocketmq.tools.command.MQAdminStartup",
	}
	cmd := exec.Command("java", append(append(java, args...), "-n", s.nameAddr)...)
	cmd.Env = append(cmd.Environ(), "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}
