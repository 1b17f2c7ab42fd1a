package examples

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

const (
	// ordersStorm is how long processes are killed, as a duration; 15 s without.
	ordersStorm = "HOLDFAST_ORDERS_STORM"

	// patience is far above what anything here takes on a loaded machine.
	patience = 3 * time.Minute

	// rememberQueues is how long RabbitMQ takes until a quorum queue that is new
	// outlives a SIGKILL with what it has confirmed: 4.3.6 lost all of it after a
	// second, and nothing after ten.
	rememberQueues = 12 * time.Second

	earlyPayments = 20
	malformed     = 5
)

// TestOrders is the promise of the outbox and the inbox in one run: processes
// are killed at random, and the broker once, while orders are taken. Each order
// that was accepted has one invoice, which was booked once.
func TestOrders_take_effect_once_whatever_is_killed(t *testing.T) {
	server := testenv.Need(t, "rabbitmq4")
	s := openShop(t, server)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)

	whole := s.start(t, seed, "-listen", "127.0.0.1:0")
	relay := s.start(t, seed+1, "-run", "relay")
	whole.up(t)
	s.tap(t)
	remembered := time.After(rememberQueues)
	s.payEarly(t, whole)
	s.publishMalformed(t)

	storm := beginStorm(whole, relay)
	lastOrder := s.postOrders(t, whole)
	calm := time.After(stormLength(t))
	<-remembered // orders are taken meanwhile
	server.Kill(t)
	server.Start(t)
	s.redrive(t) // what the early payments wait for is there by now, or is not
	<-calm
	storm.end()
	s.accepted = lastOrder()

	calmed := time.Now()
	s.settles(t)
	settled := time.Since(calmed).Round(time.Second)
	before := s.duplicates(t)
	again := s.publishAllAgain(t)
	s.sawDuplicates(t, before+again)
	s.settles(t)
	whole.stop(t)
	relay.stop(t)
	t.Logf("orders accepted %d after %d refused or broken requests; processes killed %d and %d times; "+
		"settled %v after the last kill; publications %d, of which %d are marked repetitions; duplicates that the inbox saw %d",
		len(s.accepted), s.refused.Load(), whole.killed, relay.killed, settled, again, s.repeats, s.duplicates(t))
	s.check(t)
}

func stormLength(t *testing.T) time.Duration {
	t.Helper()
	value := os.Getenv(ordersStorm)
	if value == "" {
		return 15 * time.Second
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		t.Fatalf("%s: %v", ordersStorm, err)
	}
	return d
}

func TestOrders_says_what_is_missing(t *testing.T) {
	binary := program(t, "examples/orders")
	for name, tc := range map[string]struct{ database, amqp, says string }{
		"nothing_set":     {"", "", "set DATABASE_URL"},
		"no_broker_named": {"postgres://u:hidden@127.0.0.1:1/orders", "", "AMQP_URL"},
		"unreadable":      {"postgres://u:hid%zden@127.0.0.1:1/orders", "amqp://127.0.0.1:1/", "parse"},
		"no_database":     {"postgres://u:hidden@127.0.0.1:1/orders", "amqp://127.0.0.1:1/", "does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			o := run(t, "", []string{"DATABASE_URL=" + tc.database, "AMQP_URL=" + tc.amqp}, binary)
			o.wants(t, 1, tc.says)
			if strings.Contains(o.stdout+o.stderr, "hid") {
				t.Errorf("it shows the password: %s%s", o.stdout, o.stderr)
			}
		})
	}
}
