package sheets

import (
	"syscall"
	"testing"
)

func TestConsumerCrash(t *testing.T) {
	const page = "consumer-crash.md"
	d := newDesk(t)
	d.source(nil)
	done := d.effects()
	crashed := d.consume(done.handler())
	crashed.kill()
	d.eventually("nobody consumes the queue", func() bool { return d.consumers(queue) == 0 })
	d.publish("", queue, "1", "order")
	d.becomes(page, "Detection", 0, 1)
	d.want(page, "Detection", 0, 1, "HF020", queue)

	d.consume(done.handler())
	d.eventually("the order is handled", func() bool { return done.count("order") == 1 })
	d.becomes(page, "Recovery", 0, 0)
}

// TestConsumerSilent has a consumer that holds its connection and does nothing:
// its process does not run.
func TestConsumerSilent(t *testing.T) {
	const page = "consumer-crash.md"
	d := newDesk(t)
	d.source(nil)
	done := d.effects()
	silent := d.consume(done.handler(), "--prefetch", "1")
	d.must(silent.cmd.Process.Signal(syscall.SIGSTOP))
	t.Cleanup(func() { _ = silent.cmd.Process.Signal(syscall.SIGCONT) })
	for _, id := range []string{"1", "2", "3"} {
		d.publish("", queue, id, "order")
	}
	if r := d.becomes(page, "Detection", 0, 1); !contains(r.out, "HF022") {
		t.Errorf("it is not told that nothing moves: %v", r)
	}

	silent.kill()
	d.consume(done.handler())
	d.eventually("the orders are handled", func() bool { return done.count("order") == 3 })
	d.becomes(page, "Recovery", 0, 0)
	d.want(page, "Recovery", 1, 0, "0 waiting")
}
