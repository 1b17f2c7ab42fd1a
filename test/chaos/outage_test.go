package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

const (
	outageMessages = 20_000
	outageQueues   = 3
)

// TestOutage breaks the broker in every way during a run of 20,000 messages on
// three queues: a kill and a restart, connections cut, a memory alarm.
func TestOutage(t *testing.T) {
	for _, server := range testenv.RabbitMQs(t) {
		t.Run(server.Name, func(t *testing.T) { testOutage(t, server) })
	}
}

func testOutage(t *testing.T, server testenv.RabbitMQ) {
	address := server.VHost(t)
	run := startOutage(t, address)

	run.waitForDone(t, outageMessages/10)
	cutConnections(t, server, address)
	t.Logf("attached again %v after the connections were cut", run.attachedAgain(t))

	run.waitForDone(t, outageMessages*2/10)
	alarm(t, server, run)

	run.waitForDone(t, outageMessages*3/10)
	server.Kill(t)
	server.Start(t)
	t.Logf("attached again %v after the broker was back from a kill", run.attachedAgain(t))

	run.waitForDone(t, outageMessages*4/10)
	server.Restart(t)
	t.Logf("attached again %v after the broker was back from a restart", run.attachedAgain(t))

	run.finish(t)
}

// outage is a process with three consumers on one broker connection pair.
type outage struct {
	queues    []string
	consumers []*holdfast.Consumer
	address   string
	stop      func()

	mu     sync.Mutex
	done   map[string]int // by message id, how often it was done
	events []string       // attachments and their ends, for a failure's log
	more   chan struct{}  // told of each done, without waiting
}

func startOutage(t *testing.T, address string) *outage {
	t.Helper()
	o := &outage{address: address, done: map[string]int{}, more: make(chan struct{}, 1)}
	for i := range outageQueues {
		o.queues = append(o.queues, "work."+strconv.Itoa(i))
	}
	declare(t, address, "quorum", o.queues...)
	for i, q := range o.queues {
		publish(t, address, q, outageOrders(i))
	}
	rmq := open(t, address)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, q := range o.queues {
		c, err := holdfast.NewConsumer(rmq, holdfast.ConsumerConfig{
			Queue: q, Handler: o.handle,
			Observer: holdfast.ObserverFunc(o.observe),
			// The faults of this test charge crashes to whatever is prefetched.
			Policy: holdfast.Policy{Ladder: []time.Duration{100 * time.Millisecond, 200 * time.Millisecond}, Crashes: 20},
		})
		if err != nil {
			t.Fatal(err)
		}
		o.consumers = append(o.consumers, c)
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := c.Run(ctx); err != nil {
				t.Errorf("%s: %v", q, err)
			}
		}()
	}
	o.stop = func() { cancel(); wg.Wait() }
	t.Cleanup(o.stop)
	t.Cleanup(func() { o.logOnFailure(t) })
	return o
}

func (o *outage) observe(e holdfast.Event) {
	if e.Kind != holdfast.EventAttached && e.Kind != holdfast.EventDetached && e.Kind != holdfast.EventWarning {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, fmt.Sprintf("%s %s %s wait %v: %v %s",
		e.Time.Format("15:04:05.000"), e.Queue, e.Kind, e.Wait.Round(time.Millisecond), e.Err, e.Text))
}

func (o *outage) logOnFailure(t *testing.T) {
	if t.Failed() {
		o.mu.Lock()
		defer o.mu.Unlock()
		t.Logf("%s\n%s", time.Now().Format("15:04:05.000"), strings.Join(o.events, "\n"))
	}
}

// outageOrders are a queue's messages: every fifth fails once, every fiftieth
// always.
func outageOrders(queue int) []amqp.Publishing {
	var all []amqp.Publishing
	for i := queue; i < outageMessages; i += outageQueues {
		kind := kindGood
		switch {
		case i%50 == 0:
			kind = kindFails
		case i%5 == 0:
			kind = kindTwice
		}
		all = append(all, amqp.Publishing{MessageId: strconv.Itoa(i), Type: kind, DeliveryMode: amqp.Persistent, Body: []byte(kind)})
	}
	return all
}

func (o *outage) handle(ctx context.Context, m *holdfast.Message) error {
	// A little work, so that the faults come in the middle of it.
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	if m.Type == kindFails || m.Type == kindTwice && m.Attempt < 2 {
		return errors.New("it does not work")
	}
	o.mu.Lock()
	o.done[m.ID]++
	o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return nil
}

func (o *outage) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.done)
}

func (o *outage) waitForDone(t *testing.T, n int) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for o.count() < n {
		select {
		case <-o.more:
		case <-deadline:
			t.Fatalf("only %d of %d messages are done; %+v", o.count(), n, o.consumers[0].Health())
		}
	}
}

// attachedAgain returns how long it took until every consumer was attached,
// which must be within five seconds, and waits until each has received
// something new or has nothing left to receive.
func (o *outage) attachedAgain(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	for _, c := range o.consumers {
		testenv.Eventually(t, 5*time.Second, "attached again", func() bool { return c.Health().Ready() })
	}
	took := time.Since(began).Round(time.Millisecond)
	rmq := open(t, o.address)
	for i, c := range o.consumers {
		before := c.Books().Received
		waitFor := fmt.Sprintf("messages of %s arrive again (%+v)", o.queues[i], c.Health())
		testenv.Eventually(t, 30*time.Second, waitFor, func() bool {
			return c.Books().Received > before || depth(t, rmq, o.queues[i]) == 0
		})
	}
	return took
}

// finish waits for the last message and looks for every one of them.
func (o *outage) finish(t *testing.T) {
	t.Helper()
	failing := outageMessages / 50
	o.waitForDone(t, outageMessages-failing)
	rmq := open(t, o.address)
	var since time.Time
	testenv.Eventually(t, time.Minute, "all failing messages are parked, and nothing is on the way for a second", func() bool {
		if kept, moving := o.places(t, rmq); kept < failing || moving > 0 {
			since = time.Time{}
		} else if since.IsZero() {
			since = time.Now()
		}
		return !since.IsZero() && time.Since(since) > time.Second
	})
	o.stop()
	kept, duplicates := o.kept(t, rmq)
	lost, twice := 0, 0
	for i := range outageMessages {
		id := strconv.Itoa(i)
		if o.done[id] == 0 && !kept[id] {
			lost++
		}
		if o.done[id] > 1 {
			twice++
		}
	}
	t.Logf("done %d (%d of them more than once), parked %d (%d duplicates), lost %d\n%v",
		o.count(), twice, len(kept), duplicates, lost, o.books(t))
	expect(t, "lost", lost, 0)
	expect(t, "done", o.count(), outageMessages-failing)
	expect(t, "parked", len(kept), failing)
	_, moving := o.places(t, rmq)
	expect(t, "left on the way", moving, 0)
}

// places counts what is parked and what is neither done nor parked.
func (o *outage) places(t *testing.T, rmq *rabbitmq.Broker) (kept, moving int) {
	moving = depth(t, rmq, "holdfast.retry.100") + depth(t, rmq, "holdfast.retry.200")
	for i, q := range o.queues {
		kept += depth(t, rmq, q+".parked")
		moving += depth(t, rmq, q) + int(o.consumers[i].Books().InFlight)
	}
	return kept, moving
}

// kept returns the ids of the parked messages, and how many copies there are
// beyond those.
func (o *outage) kept(t *testing.T, rmq *rabbitmq.Broker) (ids map[string]bool, duplicates int) {
	t.Helper()
	ids = map[string]bool{}
	for _, q := range o.queues {
		_, err := rmq.Sift(context.Background(), q+".parked", broker.SiftOptions{}, func(_ context.Context, s *broker.Stored) (broker.Action, error) {
			if ids[s.Message.ID] {
				duplicates++
			}
			ids[s.Message.ID] = true
			return broker.Action{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return ids, duplicates
}

func (o *outage) books(t *testing.T) (all []string) {
	t.Helper()
	for _, c := range o.consumers {
		b := c.Books()
		if !b.Balanced() || b.InFlight != 0 {
			t.Errorf("the books do not balance: %+v", b)
		}
		all = append(all, fmt.Sprintf("%+v", b))
	}
	return all
}

// cutConnections closes every connection of the vhost, from the broker's side.
func cutConnections(t *testing.T, server testenv.RabbitMQ, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	server.Ctl(t, "close_all_connections", "--vhost", u.Path[1:], "cut by a test")
}

// alarm raises the memory alarm and shows that acknowledgements go on.
func alarm(t *testing.T, server testenv.RabbitMQ, o *outage) {
	t.Helper()
	server.Ctl(t, "set_vm_memory_high_watermark", "0.00001")
	defer server.Ctl(t, "set_vm_memory_high_watermark", "0.4")
	before := o.count()
	testenv.Eventually(t, 30*time.Second, "a consumer says that it is blocked", func() bool {
		for _, c := range o.consumers {
			if c.Health().Blocked != "" {
				return true
			}
		}
		return false
	})
	o.waitForDone(t, before+50)
}
