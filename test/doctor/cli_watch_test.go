package doctor

import (
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

func TestWatch(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		e := c.start(nil, "--only", missingExchange, "--watch", "--every", "1s", "--observe", "0")
		says := func(what, text string, times int) {
			t.Helper()
			testenv.Eventually(t, within, what, func() bool { return strings.Count(e.out.String(), text) == times })
		}
		says("the first look is told", "nothing found", 1)
		c.declareFaulty("orders")
		says("what is new is told", " new\n"+missingExchange, 1)
		c.remove("orders")
		says("what is gone is told", " gone\n"+missingExchange, 1)
		c.declareFaulty("orders")
		says("what comes again is new", " new\n"+missingExchange, 2)
		if err := e.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		c.want(c.wait(e), 1)
		if n := strings.Count(e.out.String(), "nothing found"); n != 1 {
			t.Errorf("the whole report was told %d times", n)
		}
	})
}

func TestWatchGoesOnWithoutABroker(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		e := c.start(nil, "--watch", "--every", "1s", "--management", "http://doctor:hush@"+deadAddress(t))
		testenv.Eventually(t, within, "it says that it cannot look", func() bool { return strings.Contains(e.errOut.String(), "not looked at: RabbitMQ") })
		if err := e.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		c.want(c.wait(e), 3)
		c.wantNot(e, "hush")
	})
}
