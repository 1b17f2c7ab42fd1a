package outbox_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store"
)

// running is a relay inside the test's process.
type running struct {
	*outbox.Relay
	stop func()

	mu     sync.Mutex
	events []outbox.RelayEvent
}

func (r *running) seen(kind outbox.RelayEventKind) (events []outbox.RelayEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == kind {
			events = append(events, e)
		}
	}
	return events
}

// startRelay runs a relay until the test ends, or stop is called.
func startRelay(t *testing.T, p place, b broker.Publisher, change ...func(*outbox.RelayConfig)) *running {
	t.Helper()
	r := &running{}
	cfg := outbox.RelayConfig{
		Outbox: p, Broker: b, Lease: 5 * time.Second, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Observe: func(e outbox.RelayEvent) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, e)
		},
	}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	if r.Relay, err = outbox.NewRelay(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the relay ended with %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// ordered are n messages of one ordering key, whose payloads count from 0.
func ordered(destination, key string, n int) (messages []outbox.Message) {
	for i := range n {
		messages = append(messages, outbox.Message{
			Destination: destination, Key: "k." + key, OrderingKey: key, Payload: fmt.Append(nil, i),
		})
	}
	return messages
}

func TestRelayPublishesWhatIsCommitted(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		mem := membroker.New()
		defer mem.Close()
		mem.DeclareQueue("q")
		mem.Bind("orders", "k.a", "q")
		startRelay(t, p, mem)
		ctx := t.Context()
		refused := fmt.Errorf("the caller changed its mind")
		err := p.within(ctx, func(tx store.OutboxTx) error {
			if err := outbox.Add(ctx, tx, ordered("orders", "a", 10)...); err != nil {
				return err
			}
			return refused
		})
		if err != refused { //nolint:errorlint // the very error
			t.Fatal(err)
		}
		m := ordered("orders", "a", 25)
		m[0].Headers, m[0].Type, m[0].ContentType = map[string]string{"tenant": "zoë"}, "orders.placed.v1", "text/plain"
		p.add(t, m[:20]...)
		p.add(t, m[20:]...)
		p.reaches(t, map[string]int{"orders published": 25})
		var bodies []string
		for _, s := range mem.Messages("q") {
			bodies = append(bodies, string(s.Message.Body))
		}
		want := []string{}
		for i := range 25 {
			want = append(want, fmt.Sprint(i))
		}
		if !slices.Equal(bodies, want) {
			t.Errorf("the queue has %v", bodies)
		}
		first := mem.Messages("q")[0].Message
		if first.Type != "orders.placed.v1" || first.ContentType != "text/plain" || first.Headers["tenant"] != "zoë" || len(first.ID) != 36 {
			t.Errorf("the message is %+v", first)
		}
	})
}

// TestRelayDrainsTheGoodBesideTheBad is case 40 f.
func TestRelayDrainsTheGoodBesideTheBad(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		mem := membroker.New()
		defer mem.Close()
		mem.DeclareQueue("q")
		mem.Bind("good", "k.g", "q")
		mem.Bind("bad", "another", "q")
		for i := range 20 {
			p.add(t, ordered("bad", fmt.Sprint("b", i), 10)...)
		}
		p.add(t, ordered("good", "g", 100)...)
		p.add(t, ordered("gone", "x", 3)...)
		r := startRelay(t, p, mem)
		testenv.Eventually(t, patience, "all good rows are published", func() bool {
			return p.counts(t)["good published"] == 100
		})
		p.reaches(t, map[string]int{"good published": 100, "bad failed unrouted": 200, "gone pending": 3})
		if len(r.seen(outbox.RelayTripped)) == 0 || len(r.seen(outbox.RelayMissing)) != 1 {
			t.Errorf("events: %d trips, %d missing", len(r.seen(outbox.RelayTripped)), len(r.seen(outbox.RelayMissing)))
		}
		mem.Bind("gone", "k.x", "q")
		p.reaches(t, map[string]int{"good published": 100, "bad failed unrouted": 200, "gone published": 3})
	})
}

// TestRelayIsWoken: an idle relay does not wait for its next look.
func TestRelayIsWoken(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		mem := membroker.New()
		defer mem.Close()
		mem.DeclareQueue("q")
		mem.Bind("orders", "k.a", "q")
		r := startRelay(t, p, mem, func(c *outbox.RelayConfig) { c.MaxPoll = time.Minute; c.Lease = 10 * time.Minute })
		for n := 1; n <= 3; n++ {
			testenv.Eventually(t, patience, "the relay is idle", func() bool { return r.Status().State == outbox.RelayIdle })
			p.add(t, ordered("orders", "a", 1)...)
			p.reachesWithin(t, 50*time.Second, map[string]int{"orders published": n})
		}
	})
}

// TestRelayWithoutOutlets publishes through a broker that has none.
func TestRelayWithoutOutlets(t *testing.T) {
	p := onSQLite(t)
	mem := membroker.New()
	defer mem.Close()
	mem.DeclareQueue("q")
	mem.Bind("orders", "k.a", "q")
	type publisher struct{ broker.Publisher }
	r := startRelay(t, p, publisher{mem})
	p.add(t, ordered("orders", "a", 300)...)
	p.add(t, ordered("orders", "nobody", 1)...)
	p.reaches(t, map[string]int{"orders published": 300, "orders failed unrouted": 1})
	for i, s := range mem.Messages("q") {
		if string(s.Message.Body) != fmt.Sprint(i) {
			t.Fatalf("message %d is %s", i, s.Message.Body)
		}
	}
	mem.Stop()
	p.add(t, ordered("orders", "a", 3)...)
	testenv.Eventually(t, patience, "the outage is seen", func() bool { return len(r.seen(outbox.RelayClosed)) > 0 })
	mem.Start()
	p.reaches(t, map[string]int{"orders published": 303, "orders failed unrouted": 1})
}
