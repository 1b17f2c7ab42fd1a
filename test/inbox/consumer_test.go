package inbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/inbox"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

const queue = "orders.billing"

// consuming runs a consumer until the test ends.
func consuming(t *testing.T, b broker.Broker, p holdfast.Policy, h holdfast.Handler) *holdfast.Consumer {
	t.Helper()
	c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{Queue: queue, Policy: p, Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the consumer: %v", err)
		}
		if !c.Books().Balanced() {
			t.Errorf("books %+v", c.Books())
		}
	})
	return c
}

func publish(t *testing.T, p broker.Publisher, m *holdfast.Message) {
	t.Helper()
	if err := p.Publish(t.Context(), broker.Target{Queue: queue}, m); err != nil {
		t.Fatal(err)
	}
}

// The connection ends between the commit and the acknowledgement, and between
// the effect and the commit; and the producer sends some twice.
func TestConsumer_that_loses_its_connection(t *testing.T) {
	each(t, func(t *testing.T, _ address, s *service) {
		b := membroker.New()
		t.Cleanup(func() { _ = b.Close() })
		b.DeclareQueue(queue)
		const messages = 6
		for i := range messages {
			publish(t, b, &holdfast.Message{ID: fmt.Sprint(i)})
			publish(t, b, &holdfast.Message{ID: fmt.Sprint(i)})
		}
		var n, duplicates atomic.Int64
		c := consuming(t, b, holdfast.Policy{Crashes: 100, Ladder: []time.Duration{}}, func(ctx context.Context, m *holdfast.Message) error {
			turn := n.Add(1)
			r, err := s.handle(ctx, inbox.Of(m), func() error {
				if turn%5 == 2 {
					b.Cut()
					return errors.New("rolled back")
				}
				return nil
			})
			if turn%5 == 4 {
				b.Cut()
			}
			if r.Outcome == inbox.Duplicate {
				duplicates.Add(1)
			}
			return err
		})
		testenv.Eventually(t, patience, "all are handled", func() bool {
			return len(b.Messages(queue)) == 0 && c.Books().InFlight == 0
		})
		s.same(t, numbers(messages)...)
		if duplicates.Load() < messages || len(b.Messages(queue+".parked")) != 0 {
			t.Errorf("%d duplicates, %d parked", duplicates.Load(), len(b.Messages(queue+".parked")))
		}
	})
}

// Processes are killed at the two worst moments of a message's life; each
// message is applied once.
func TestConsumer_that_is_killed(t *testing.T) {
	for _, r := range testenv.RabbitMQs(t) {
		t.Run(r.Name, func(t *testing.T) {
			on(t, []string{onSQLite, onPostgres}, func(t *testing.T, at address, s *service) {
				url := r.VHost(t)
				const messages = 12
				channel := declare(t, url)
				for i := range messages {
					body := []string{killsBeforeCommit, killsBeforeAck, "good"}[i%3]
					send(t, channel, amqp.Publishing{MessageId: fmt.Sprint(i), Body: []byte(body), DeliveryMode: amqp.Persistent})
				}
				const kills = 8 // one for each message that does it
				killed, j := 0, job{At: at, AMQP: url, Queue: queue, Killed: t.TempDir()}
				for {
					done := func() bool { return killed == kills && len(s.effects(t)) == messages && ready(t, channel) == 0 }
					if until(t, start(t, j), done) {
						break
					}
					killed++
				}
				s.same(t, numbers(messages)...)
				if n := ready(t, channel); n != 0 || killed != kills {
					t.Errorf("%d processes were killed, %d messages are left", killed, n)
				}
			})
		})
	}
}

// until stops the process when done, and returns true; or false when it was
// killed before.
func until(t *testing.T, p *process, done func() bool) bool {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	var end error
	over := false
	testenv.Eventually(t, patience, "all messages are handled, or the process is killed", func() bool {
		select {
		case end = <-ended:
			over = true
			return true
		default:
			return done()
		}
	})
	if over {
		var exit *exec.ExitError
		status := syscall.WaitStatus(0)
		if errors.As(end, &exit) {
			status, _ = exit.Sys().(syscall.WaitStatus)
		}
		if !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Fatalf("the process ended by itself: %v\n%s", end, p.errs.String())
		}
		return false
	}
	_ = p.Process.Signal(syscall.SIGTERM)
	if err := <-ended; err != nil {
		t.Errorf("the process did not stop in order: %v\n%s", err, p.errs.String())
	}
	return true
}

func declare(t *testing.T, url string) *amqp.Channel {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := channel.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
		t.Fatal(err)
	}
	if err := channel.Confirm(false); err != nil {
		t.Fatal(err)
	}
	return channel
}

// ready is how many messages wait in the queue.
func ready(t *testing.T, c *amqp.Channel) int {
	t.Helper()
	q, err := c.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	return q.Messages
}

func send(t *testing.T, c *amqp.Channel, m amqp.Publishing) {
	t.Helper()
	confirm, err := c.PublishWithDeferredConfirm("", queue, true, false, m)
	if err != nil || !confirm.Wait() {
		t.Fatalf("not confirmed: %v", err)
	}
}
