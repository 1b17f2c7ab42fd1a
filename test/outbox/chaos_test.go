package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store"
)

// chaosRows is how many rows the runs with killed relays publish. The full run
// has 50,000 (HOLDFAST_OUTBOX_ROWS).
func chaosRows(t *testing.T) int {
	t.Helper()
	text := os.Getenv("HOLDFAST_OUTBOX_ROWS")
	if text == "" {
		return 6000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("HOLDFAST_OUTBOX_ROWS is %q", text)
	}
	return n
}

const (
	chaosKeys = 1000

	// chaosLease is the shortest there is: a relay here lives for three seconds,
	// and must see for the length of a lease that another does not.
	chaosLease = time.Second
)

// TestRelaysKilledAndBrokerRestarted: three relays of which one is killed each
// second, and a broker that is restarted twice.
func TestRelaysKilledAndBrokerRestarted(t *testing.T) {
	t.Run("republish", func(t *testing.T) {
		c := newChaos(t, outbox.Republish)
		c.run()
		c.want(map[string]int{"orders published": c.rows})
		got := c.received()
		got.wantAll(t, c.rows)
		got.wantOrder(t)
		got.wantMarked(t)
		t.Logf("%d rows arrived as %d messages; relays were killed %d times", c.rows, got.total, c.kills)
	})
	t.Run("leave for a human", func(t *testing.T) {
		c := newChaos(t, outbox.LeaveForHuman)
		c.run()
		rows := c.place.counts(t)
		published, left := rows["orders published"], rows["orders publishing"]+rows["orders publishing unknown"]
		if published+left != c.rows {
			t.Errorf("rows are %v, which is not %d", rows, c.rows)
		}
		got := c.received()
		got.wantOrder(t)
		if got.total != len(got.of) {
			t.Errorf("%d messages of %d rows: there are duplicates", got.total, len(got.of))
		}
		if len(got.of) < published {
			t.Errorf("%d rows are published, and %d arrived", published, len(got.of))
		}
		t.Logf("%d rows published, %d left for a human, %d arrived; relays were killed %d times", published, left, len(got.of), c.kills)
	})
}

type chaos struct {
	*testing.T
	rmq   testenv.RabbitMQ
	url   string
	place place
	job   job
	rows  int
	kills int
}

func newChaos(t *testing.T, rule outbox.UnknownRule) *chaos {
	rmq := testenv.Need(t, "rabbitmq4")
	c := &chaos{T: t, rmq: rmq, url: rmq.VHost(t), place: onPostgres(t), rows: chaosRows(t)}
	c.job = c.place.job
	c.job.AMQP, c.job.Lease, c.job.Unknown = c.url, chaosLease, rule
	declareExchange(t, c.url, "orders", "all", "#")
	return c
}

// run writes all rows while relays are killed and the broker restarts, and
// returns when nothing waits any more.
func (c *chaos) run() {
	written := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() { c.write(w, 4) })
	}
	go func() { writers.Wait(); close(written) }()
	stop := make(chan struct{})
	var killer sync.WaitGroup
	killer.Go(func() { c.kill(stop) })
	for range 2 {
		c.until("a quarter more is done", c.done()+c.rows/4)
		c.rmq.Restart(c.T)
	}
	<-written
	c.until("three quarters are done", c.rows*3/4)
	close(stop)
	killer.Wait()
	testenv.Eventually(c, 10*time.Minute, "nothing waits to be published", func() bool { return c.open() == 0 })
}

// write adds the rows of every keys'th key from first on, in transactions of a
// few.
func (c *chaos) write(first, keys int) {
	next := map[int]int{}
	for n := first; n < c.rows; {
		var some []outbox.Message
		for range 1 + rand.IntN(20) {
			if n >= c.rows {
				break
			}
			key := n % chaosKeys
			some = append(some, outbox.Message{
				Destination: "orders", Key: fmt.Sprintf("k.%d", key), OrderingKey: fmt.Sprint(key),
				Payload: fmt.Append(nil, next[key]),
			})
			next[key]++
			n += keys
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err := c.place.within(ctx, func(tx store.OutboxTx) error { return outbox.Add(ctx, tx, some...) })
		cancel()
		if err != nil {
			c.Error(err)
			return
		}
	}
}

// kill keeps three relays running and kills one of them each second.
func (c *chaos) kill(stop <-chan struct{}) {
	relays := make([]*exec.Cmd, 3)
	for i := range relays {
		relays[i] = startWorker(c.T, c.job)
	}
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticks.C:
			i := c.kills % len(relays)
			killWorker(relays[i])
			relays[i] = startWorker(c.T, c.job)
			c.kills++
		}
	}
}

// done is how many rows are published, or left for a human.
func (c *chaos) done() int {
	n := c.place.counts(c)
	if c.job.Unknown == outbox.LeaveForHuman {
		return n["orders published"] + n["orders publishing"] + n["orders publishing unknown"]
	}
	return n["orders published"]
}

// open is how many rows a relay still has to do with. Of the rows that are
// publishing, those of the living count alone.
func (c *chaos) open() int {
	n := c.place.counts(c)
	if c.job.Unknown == outbox.LeaveForHuman {
		return n["orders pending"] + c.underWay()
	}
	return c.rows - n["orders published"]
}

// underWay counts the rows that a relay which has their lane is publishing.
func (c *chaos) underWay() int {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := c.place.Status(ctx)
	if err != nil {
		c.Fatal(err)
	}
	holders := map[int]store.Lease{}
	for _, l := range s.Leases {
		holders[l.Lane] = l
	}
	rows, err := c.place.List(ctx, store.Filter{State: store.Publishing, Limit: 100_000})
	if err != nil {
		c.Fatal(err)
	}
	n := 0
	for _, r := range rows {
		if l := holders[r.Lane]; r.Class == "" && l.Relay == r.Relay && l.Token == r.Token {
			n++
		}
	}
	return n
}

func (c *chaos) until(what string, n int) {
	c.Helper()
	testenv.Eventually(c, 10*time.Minute, what, func() bool { return c.done() >= min(n, c.rows*3/4) })
}

func (c *chaos) want(want map[string]int) {
	c.Helper()
	if got := c.place.counts(c); fmt.Sprint(got) != fmt.Sprint(want) {
		c.Errorf("rows are %v, want %v", got, want)
	}
}

// received empties the queue.
func (c *chaos) received() *arrivals {
	c.Helper()
	return drain(c.T, c.url, "all")
}

// arrivals are the messages of a queue by their ids, in the order in which
// they lay there.
type arrivals struct {
	total int
	order []string // ids, by their first arrival
	of    map[string][]arrival
}

type arrival struct {
	key    string
	body   string
	marked bool
}

func (a *arrivals) wantAll(t *testing.T, n int) {
	t.Helper()
	if len(a.of) != n {
		t.Errorf("%d rows arrived, want %d", len(a.of), n)
	}
}

// wantOrder looks at the first arrival of each row: those of one key count up.
func (a *arrivals) wantOrder(t *testing.T) {
	t.Helper()
	last := map[string]int{}
	wrong := 0
	for _, id := range a.order {
		first := a.of[id][0]
		n, err := strconv.Atoi(first.body)
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := last[first.key]; ok && n <= before {
			wrong++
		}
		last[first.key] = n
	}
	if wrong > 0 {
		t.Errorf("%d rows arrived before an earlier one of their key", wrong)
	}
}

// wantMarked: of the messages of one row at most one has no mark, so that no
// duplicate is unmarked.
func (a *arrivals) wantMarked(t *testing.T) {
	t.Helper()
	for id, all := range a.of {
		unmarked := 0
		for _, one := range all {
			if !one.marked {
				unmarked++
			}
		}
		if unmarked > 1 {
			t.Errorf("row %s arrived %d times, %d times without a mark", id, len(all), unmarked)
		}
	}
}

func drain(t *testing.T, url, queue string) *arrivals {
	t.Helper()
	a := &arrivals{of: map[string][]arrival{}}
	ch := channel(t, url)
	q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := ch.Consume(queue, "", true, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for a.total < q.Messages {
		select {
		case m := <-messages:
			_, marked := m.Headers[broker.HeaderOutboxRepeat]
			a.total++
			if a.of[m.MessageId] == nil {
				a.order = append(a.order, m.MessageId)
			}
			a.of[m.MessageId] = append(a.of[m.MessageId], arrival{m.RoutingKey, string(m.Body), marked})
		case <-timeout.C:
			t.Fatalf("%d of %d messages came", a.total, q.Messages)
		}
	}
	return a
}

// channel is a plain client's, for what a test does by hand.
func channel(t *testing.T, url string) *amqp.Channel {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil && !errors.Is(err, amqp.ErrClosed) {
			t.Logf("closing a connection: %v", err)
		}
	})
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// declareExchange makes a topic exchange and a queue that gets what has key.
func declareExchange(t *testing.T, url, exchange, queue, key string) {
	t.Helper()
	ch := channel(t, url)
	if err := ch.ExchangeDeclare(exchange, amqp.ExchangeTopic, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := ch.QueueDeclare(queue, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if err := ch.QueueBind(queue, key, exchange, false, nil); err != nil {
		t.Fatal(err)
	}
}
