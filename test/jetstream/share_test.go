package jetstream_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// TestSharedWork: two processes with two consumers each take each message
// once, and all of them take some.
func TestSharedWork(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	const n = 200
	var runs tally
	var shares [4]tally
	gate := make(chan struct{}) // opens when each has one in hand
	var waiting sync.WaitGroup
	waiting.Add(len(shares))
	brokers := []broker.Broker{p.open(), p.open()}
	for i := range shares {
		var first sync.Once
		p.run(brokers[i/2], holdfast.ConsumerConfig{
			Queue: queue, Concurrency: 2, Prefetch: 4, Handler: func(_ context.Context, m *holdfast.Message) error {
				shares[i].add(string(m.Body))
				first.Do(waiting.Done)
				<-gate
				if runs.add(string(m.Body)) == 1 && m.Attempt == 1 && len(m.Body)%2 == 0 {
					return fmt.Errorf("some fail once")
				}
				return nil
			},
			Policy: holdfast.Policy{Ladder: []time.Duration{100 * time.Millisecond}},
		})
	}
	for i := range n {
		p.publish(fmt.Sprint(i))
	}
	waiting.Wait()
	close(gate)
	p.wantStored("ORDERS", 0)
	p.wantStored(workStream, 0)
	for i := range n {
		body := fmt.Sprint(i)
		want := 1
		if len(body)%2 == 0 {
			want = 2
		}
		if got := runs.of(body); got != want {
			t.Errorf("%s ran %d times, not %d", body, got, want)
		}
	}
}

// TestPrefetchIsOneBound: what a session has in hand of source and of what
// came back together is never more than its prefetch.
func TestPrefetchIsOneBound(t *testing.T) {
	t.Parallel()
	for _, prefetch := range []int{1, 3, 7} {
		t.Run(fmt.Sprint(prefetch), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			queue := p.queue()
			b := p.open()
			for i := range 10 {
				p.publish(fmt.Sprint("fresh ", i))
				p.must(b.Publish(p.ctx(), broker.Target{Queue: queue}, &broker.Message{Body: fmt.Append(nil, "back ", i)}))
			}
			inHand := func() int {
				return p.consumerInfo("ORDERS", "billing").NumAckPending + p.consumerInfo(workStream, "ORDERS+billing").NumAckPending
			}
			p.consuming(b, queue, prefetch)
			p.eventually("all that may be is in hand", func() bool { return inHand() == prefetch })
			for end := time.Now().Add(quiet); time.Now().Before(end); {
				if n := inHand(); n > prefetch {
					t.Fatalf("%d are in hand", n)
				}
			}
		})
	}
}

// TestPrefetchWhileSettling counts what the session handed out and was not
// told of, while it works.
func TestPrefetchWhileSettling(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	queue := p.queue()
	b := p.open()
	const n, prefetch = 60, 4
	for i := range n / 2 {
		p.publish(fmt.Sprint("fresh ", i))
		p.must(b.Publish(p.ctx(), broker.Target{Queue: queue}, &broker.Message{Body: fmt.Append(nil, "back ", i)}))
	}
	s := p.consuming(b, queue, prefetch)
	var hand []broker.Delivery
	seen := map[string]bool{}
	for len(seen) < n {
		d := p.receive(s)
		seen[string(d.Message().Body)] = true
		hand = append(hand, d)
		if len(hand) > prefetch {
			t.Fatalf("%d are in hand", len(hand))
		}
		if len(hand) == prefetch || len(seen) == n {
			p.mustSettle(hand[0], done)
			hand = hand[1:]
		}
		if len(hand) == prefetch-1 && len(seen)%3 == 0 { // also several at once
			for _, d := range hand {
				p.mustSettle(d, done)
			}
			hand = nil
		}
	}
}

// TestTwoSourcesOfANamespace: neither sees what the other has returned, held
// or parked.
func TestTwoSourcesOfANamespace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.stream("ORDERS", func(c *natsjs.StreamConfig) { c.Retention = natsjs.LimitsPolicy })
	queues := []string{"ORDERS/a", "ORDERS/ab"}
	b := p.open()
	var sessions []broker.Session
	for _, name := range []string{"a", "ab"} {
		p.consumer("ORDERS", name)
		sessions = append(sessions, p.consuming(b, "ORDERS/"+name, 5))
	}
	p.publish("delayed", "held", "parked")
	list := p.receives(sessions[0], "delayed", "held", "parked")
	p.mustSettle(list[0], delayed(list[0], rungs[0]))
	p.mustSettle(list[1], held(list[1]))
	p.mustSettle(list[2], parked(list[2]))
	for _, d := range p.receives(sessions[1], "delayed", "held", "parked") {
		p.mustSettle(d, done)
	}
	p.mustSettle(p.receives(sessions[0], "delayed")[0], done)
	p.receivesNothing(sessions[1])
	for i, want := range []int{1, 0} {
		for _, place := range []string{".hold", ".parked"} {
			d, err := b.Depth(p.ctx(), queues[i]+place)
			if err != nil || d.Messages != want || len(p.sifted(queues[i]+place)) != want {
				t.Errorf("%s%s: %+v, %v", queues[i], place, d, err)
			}
		}
	}
}
