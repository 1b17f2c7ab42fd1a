package cli

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// attach lets a consumer declare what it needs, and goes: the parked queue is
// then as in real life, without a delivery limit. A quorum queue of RabbitMQ 4
// that sets none has one of 20, and each killed replay counts.
func (s *scene) attach() {
	s.t.Helper()
	s.want(s.holdfast("consume", "--queue", queue, "--exec", "exit 0", "--until-idle", "10ms"), 0, "received 0")
}

// park parks the orders from first to last.
func (s *scene) park(first, last int) {
	s.t.Helper()
	var all []amqp.Publishing
	for i := first; i <= last; i++ {
		all = append(all, parkedOrder(fmt.Sprintf("order-%d", i)))
	}
	s.publish("", parked, all...)
}

// TestReplay_killed_at_any_point kills it with SIGKILL at twenty random points
// while it moves a thousand messages.
func TestReplay_killed_at_any_point(t *testing.T) {
	onEach(t, func(s *scene) {
		const kills, most = 20, 200
		messages := 1000
		seed := uint64(time.Now().UnixNano())
		random := rand.New(rand.NewPCG(seed, seed))
		s.t.Logf("seed %d", seed)
		s.declareSource(nil)
		s.attach()
		s.park(1, messages)
		// Up to how long after the first move to kill: of an unpaced run and of a
		// paced one. A machine that is busy moves nothing in so little time.
		longest := [2]time.Duration{60 * time.Millisecond, 200 * time.Millisecond}
		for hits, tries := 0, 0; hits < kills; tries++ {
			if tries == most {
				s.t.Fatalf("only %d of %d kills fell while messages moved, the last within %v", hits, tries, longest)
			}
			before, paced := s.depth(queue), tries%2
			s.kill(random, paced == 1, longest[paced])
			switch {
			case s.depth(queue) > before:
				hits++
			case longest[paced] < within/2:
				longest[paced] += longest[paced] / 2
			}
			if s.depth(queue) > messages-200 {
				// The machine is fast: there must be something left to move.
				s.park(messages+1, messages+1000)
				messages += 1000
			}
		}
		// The originals of a killed run go back to their queue once the broker
		// has seen its connection end; then nothing is in nobody's hand.
		at := map[string][2]int{}
		s.settled(parked, func(m amqp.Delivery) { c := at[m.MessageId]; c[0]++; at[m.MessageId] = c })
		moved := s.settled(queue, func(m amqp.Delivery) {
			c := at[m.MessageId]
			c[1]++
			at[m.MessageId] = c
			if m.Headers["x-holdfast-replay-id"] == nil || m.Headers["x-holdfast-id"] != nil || m.RoutingKey != "orders.created" {
				s.t.Errorf("the copy of %s has key %q and headers %v", m.MessageId, m.RoutingKey, m.Headers)
			}
		})
		lost, twice := 0, 0
		for i := 1; i <= messages; i++ {
			switch c := at[fmt.Sprintf("order-%d", i)]; c[0] + c[1] {
			case 0:
				lost++
			case 1:
			default:
				twice++
			}
		}
		s.t.Logf("%d moved, %d in both places, %d lost", moved, twice, lost)
		if lost > 0 {
			s.t.Errorf("%d messages are in neither queue", lost)
		}
	})
}

// kill starts a replay and kills it at a random moment after it began to move.
// Half of the runs are paced, so that kills also fall between messages.
func (s *scene) kill(random *rand.Rand, paced bool, longest time.Duration) {
	s.t.Helper()
	args := []string{"replay", queue}
	if paced {
		args = append(args, "--rate", "500")
	}
	r, moving := s.start("replaying", args...)
	select {
	case <-moving:
	case <-time.After(within):
		s.t.Fatal("did not begin to move")
	}
	<-time.After(time.Duration(random.Int64N(int64(longest)))) // the random point itself, and no wait for anything
	s.ok(r.cmd.Process.Kill())
	s.wait(r)
}

// settled drains a queue until all that was out with a killed process is back.
func (s *scene) settled(name string, each func(amqp.Delivery)) int {
	s.t.Helper()
	n := 0
	quiet := time.Now().Add(2 * time.Second)
	for time.Now().Before(quiet) {
		for _, m := range s.drain(name) {
			each(m)
			n++
			quiet = time.Now().Add(2 * time.Second)
		}
	}
	return n
}

func TestReplay_stops_cleanly_at_a_signal(t *testing.T) {
	onEach(t, func(s *scene) {
		s.declareSource(nil)
		s.attach()
		s.park(1, 100)
		s.wantDepth(parked, 100)
		r, moving := s.start("replaying", "replay", queue, "--rate", "20")
		<-moving
		s.eventually(func() bool { return s.depth(queue) >= 3 })
		s.ok(r.cmd.Process.Signal(syscall.SIGINT))
		s.wait(r)
		s.want(r, 1, "stopped after ", "running the same command again goes on from here")
		moved := s.depth(queue)
		s.want(r, 1, fmt.Sprintf("replayed %d, kept %d", moved, 100-moved))
		s.wantDepth(parked, 100-moved)
		s.want(s.holdfast("replay", queue), 0, fmt.Sprintf("replayed %d, kept 0", 100-moved))
		s.wantDepth(queue, 100)
	})
}

// TestReplay_from_a_plain_dead_letter_queue replays what Holdfast never saw:
// the broker moved it, under a rewritten key.
func TestReplay_from_a_plain_dead_letter_queue(t *testing.T) {
	const dlq = "billing-service.orders.dlq"
	onEach(t, func(s *scene) {
		s.ok(s.ch.ExchangeDeclare("billing-service.dlx", "direct", true, false, false, false, nil))
		s.declare(dlq, nil)
		s.ok(s.ch.QueueBind(dlq, "dead-letter", "billing-service.dlx", false, nil))
		s.declareSource(amqp.Table{"x-dead-letter-exchange": "billing-service.dlx", "x-dead-letter-routing-key": "dead-letter"})
		s.publish("shop", "orders.created", order("o-1", "1"), order("o-2", "2"))
		s.publish("shop", "orders.invited", order("o-3", "a token"))
		s.rejectAll(queue, 3)
		s.wantDepth(dlq, 3)

		// A plain message in the same queue, of which nobody knows whence.
		s.publish("", dlq, order("o-4", "4"))
		s.wantDepth(dlq, 4)

		look := []string{"--from", dlq, "--accept-charge"}
		s.want(s.holdfast(append([]string{"parked", queue}, look...)...), 0, "4 waiting", "dead-lettered by the broker 3, foreign 1", "orders.invited")
		s.want(s.holdfast(append([]string{"show", queue, "o-1"}, look...)...), 0, `rejected from queue "billing-service.orders", 1 times`, `key "orders.created"`)
		s.want(s.holdfast(append([]string{"replay", queue, "--refuse-keys", "orders.invited"}, look...)...), 1,
			`refused #3 o-3 key "orders.invited"`, "refused #4 o-4", "replayed 2, kept 2 (refused 2)")
		s.wantDepth(queue, 2)
		for _, m := range s.drain(queue) {
			if m.RoutingKey != "orders.created" || len(header(m, "x-death")) > 0 || len(header(m, "x-first-death")) > 0 || len(header(m, "x-last-death")) > 0 {
				s.t.Errorf("key %q, headers %v: want the original key and no trace of the death", m.RoutingKey, m.Headers)
			}
			if m.Headers["tenant"] != "acme" {
				s.t.Errorf("headers %v: the producer's are lost", m.Headers)
			}
		}
		s.want(s.holdfast(append([]string{"replay", queue, "--id", "o-4", "--to-queue", queue}, look...)...), 0, "replayed 1")
	})
}

// rejectAll is the service's consumer before Holdfast.
func (s *scene) rejectAll(name string, n int) {
	s.t.Helper()
	for range n {
		s.eventually(func() bool {
			m, ok, err := s.ch.Get(name, false)
			s.ok(err)
			if ok {
				s.ok(m.Nack(false, false))
			}
			return ok
		})
	}
}

func TestReplay_to_origin_needs_the_right_to_it(t *testing.T) {
	onEach(t, func(s *scene) {
		s.declareSource(nil)
		s.attach()
		s.park(1, 1)
		s.wantDepth(parked, 1)
		s.want(s.holdfast("replay", queue, "--to", "origin"), 3, "every subscriber", "shop", "replayed 0, kept 1")
		s.wantDepth(parked, 1)
		r, _ := s.startAs(s.admin, "\x00", "replay", queue, "--to", "origin")
		s.wait(r)
		s.want(r, 0, "replayed 1, kept 0")
		s.wantDepth(queue, 1)
	})
}

func TestUnreachable(t *testing.T) {
	onEach(t, func(s *scene) {
		s.declare(parked, nil)
		wrong := strings.Replace(s.url, ":", ":", 1)
		at := strings.LastIndex(wrong, "@")
		wrong = wrong[:at] + "x" + wrong[at:]
		r, _ := s.startAs(wrong, "\x00", "parked", queue)
		s.wait(r)
		s.want(r, 3, "refuses the login")
		secret := wrong[strings.LastIndex(wrong[:strings.LastIndex(wrong, "@")], ":")+1 : strings.LastIndex(wrong, "@")]
		if strings.Contains(r.out.String()+r.errOut.buf.String(), secret) {
			s.t.Error("the password was printed")
		}
		r, _ = s.startAs("amqp://u:p@127.0.0.1:1/", "\x00", "replay", queue)
		s.wait(r)
		s.want(r, 3, "check that the broker is up")
	})
}
