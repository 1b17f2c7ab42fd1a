package outbox_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/outbox"
)

// TestRelayTakesOverFromAKilledOne is case 40 d.
func TestRelayTakesOverFromAKilledOne(t *testing.T) {
	const rows, lease = 3000, 5 * time.Second
	rmq := testenv.Need(t, "rabbitmq4")
	url := rmq.VHost(t)
	declareExchange(t, url, "orders", "q", "#")
	p := onPostgres(t)
	j := p.job
	j.AMQP, j.Lease, j.Unknown = url, lease, outbox.Republish
	victim := startWorker(t, j)
	testenv.Eventually(t, patience, "the first relay has lanes", func() bool { return holders(t, p) == 1 })
	startWorker(t, j)
	testenv.Eventually(t, patience, "the two share the lanes", func() bool { return holders(t, p) == 2 })
	for key := range 100 {
		p.add(t, ordered("orders", fmt.Sprint(key), rows/100)...)
	}
	testenv.Eventually(t, patience, "a part is published", func() bool { return p.counts(t)["orders published"] > 0 })
	killWorker(victim)
	start := time.Now()
	p.reaches(t, map[string]int{"orders published": rows})
	t.Logf("all was published %v after the kill, with a lease of %v", time.Since(start), lease)
	testenv.Eventually(t, patience, "no lane is the dead one's", func() bool { return holders(t, p) == 1 })
	got := drain(t, url, "q")
	got.wantAll(t, rows)
	got.wantOrder(t)
	got.wantMarked(t)
}

// holders is how many relays have lanes.
func holders(t *testing.T, p place) int {
	t.Helper()
	s, err := p.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, l := range s.Leases {
		if l.Relay != "" {
			names[l.Relay] = true
		}
	}
	return len(names)
}

// TestRelayThatWasFrozen is case 40 e: a process that is stopped for longer
// than its lease and then goes on changes nothing that is another's by then.
func TestRelayThatWasFrozen(t *testing.T) {
	const rows, lease = 2000, 3 * time.Second
	rmq := testenv.Need(t, "rabbitmq4")
	url := rmq.VHost(t)
	declareExchange(t, url, "orders", "q", "#")
	p := onPostgres(t)
	j := p.job
	j.AMQP, j.Lease, j.Unknown = url, lease, outbox.Republish
	frozen := startWorker(t, j)
	testenv.Eventually(t, patience, "the first relay has lanes", func() bool { return holders(t, p) == 1 })
	go func() { // in transactions of ten, so that it is frozen with work in hand
		for n := range rows / 10 {
			p.add(t, ordered("orders", fmt.Sprint(n), 10)...)
		}
	}()
	testenv.Eventually(t, patience, "a part is published", func() bool { return p.counts(t)["orders published"] > 100 })
	if err := frozen.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = frozen.Process.Signal(syscall.SIGCONT) })
	startWorker(t, j)
	p.reaches(t, map[string]int{"orders published": rows})
	if err := frozen.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, patience, "the frozen relay has lanes again", func() bool { return holders(t, p) == 2 })
	p.add(t, ordered("orders", "last", 100)...)
	p.reaches(t, map[string]int{"orders published": rows + 100})
	got := drain(t, url, "q")
	got.wantAll(t, rows+100)
	got.wantOrder(t)
	got.wantMarked(t)
}
