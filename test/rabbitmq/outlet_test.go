package rabbitmq_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/test/faultproxy"
)

func (p *place) outlet(b *rabbitmq.Broker, exchange string) broker.Outlet {
	p.Helper()
	o, err := b.OpenOutlet(p.Context(), exchange, nil)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := o.Close(ctx); err != nil {
			p.Error(err)
		}
	})
	return o
}

// send publishes one message and waits for its outcome.
func (p *place) send(o broker.Outlet, key string, m *broker.Message) error {
	p.Helper()
	outcome := make(chan error, 2)
	o.Publish(key, m, func(err error) { outcome <- err })
	select {
	case err := <-outcome:
		return err
	case <-time.After(patience):
		p.Fatal("the message has no outcome")
		return nil
	}
}

// stream publishes the numbers from 0 until the outlet is over, and calls
// under when some are under way. It returns the outcome of each.
func (p *place) stream(o broker.Outlet, key string, under func()) []error {
	p.Helper()
	const most, at = 200000, 500
	var (
		mu   sync.Mutex
		errs = make([]error, 0, most)
		open = make(chan struct{}, 400)
		all  sync.WaitGroup
	)
	fault := sync.OnceFunc(under)
	for i := range most {
		select {
		case <-o.Done():
			all.Wait()
			return errs
		case open <- struct{}{}:
		case <-time.After(patience):
			p.Fatal("nothing goes on")
		}
		if i == at {
			go fault()
		}
		all.Add(1)
		mu.Lock()
		errs = append(errs, errors.New("no outcome"))
		mu.Unlock()
		o.Publish(key, &broker.Message{Body: []byte(strconv.Itoa(i))}, func(err error) {
			mu.Lock()
			errs[i] = err
			mu.Unlock()
			<-open
			all.Done()
		})
	}
	p.Fatal("the outlet does not end")
	return nil
}

// holds takes everything out of queue, at least n messages, and counts how
// often each number is there. A queue that recovers is empty for a while.
func (p *place) holds(queue string, n int) map[int]int {
	p.Helper()
	found, taken := map[int]int{}, 0
	testenv.Eventually(p, patience, fmt.Sprintf("%d messages in %s", n, queue), func() bool {
		for {
			d, ok, err := p.plain.Get(queue, true)
			if err != nil {
				p.Fatal(err)
			}
			if !ok {
				return taken >= n
			}
			i, err := strconv.Atoi(string(d.Body))
			if err != nil {
				p.Fatal(err)
			}
			taken++
			found[i]++
		}
	})
	return found
}

// wantTrue holds outcomes against what is in the queue, and counts those of
// class.
func (p *place) wantTrue(errs []error, queue string, class error) (n int) {
	p.Helper()
	stored := 0
	for _, err := range errs {
		if err == nil {
			stored++
		}
	}
	found, tally := p.holds(queue, stored), map[string]int{}
	for i, err := range errs {
		switch {
		case err == nil:
			tally["stored"]++
			if found[i] != 1 {
				p.Errorf("message %d is said to be stored and is there %d times", i, found[i])
			}
		case errors.Is(err, broker.ErrUnknown):
			tally["unknown"]++
		case errors.Is(err, broker.ErrClosed), class != nil && errors.Is(err, class):
			if errors.Is(err, broker.ErrClosed) {
				tally["closed"]++
			} else {
				n++
			}
			if found[i] != 0 {
				p.Errorf("message %d is said not to be stored and is: %v", i, err)
			}
		default:
			p.Errorf("message %d: %v", i, err)
		}
	}
	p.Logf("%d messages: %v, %d of the class", len(errs), tally, n)
	return n
}

// TestOutletIsProven: what may not be published to is told at once, for the
// right reason, and the asking changes nothing.
func TestOutletIsProven(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		t.Parallel()
		p := newPlace(t, r)
		p.declare("orders", nil)
		p.bind("orders.out", "topic", "#", "orders")
		p.bind("orders.in", "direct", "#")
		if err := p.plain.ExchangeBind("orders.out", "k", "orders.in", false, nil); err != nil {
			t.Fatal(err)
		}
		var before, after []map[string]any
		p.api("bindings/"+p.vhost(), &before)
		none, all := "^$", ".*"
		for name, c := range map[string]struct {
			write, read string
			ok          []string
			refused     []string
			missing     []string
		}{
			"all":     {all, all, []string{"orders.out", "amq.topic", ""}, nil, []string{"absent"}},
			"write":   {`^(orders\.out|absent)$`, none, []string{"orders.out"}, []string{"orders.in", "amq.topic", "", "other"}, []string{"absent"}},
			"read":    {none, all, nil, []string{"orders.out", "", "absent"}, nil},
			"default": {`^amq\.default$`, none, []string{""}, []string{"orders.out"}, nil},
			"nothing": {none, none, nil, []string{"orders.out", "", "absent"}, nil},
		} {
			b := p.open(func(conf *rabbitmq.Config) { conf.URL = r.User(t, p.url, name, none, c.write, c.read) })
			for _, exchange := range c.ok {
				p.outlet(b, exchange)
			}
			for _, exchange := range c.refused {
				_, err := b.OpenOutlet(t.Context(), exchange, nil)
				grant := exchange
				if grant == "" {
					grant = "amq.default"
				}
				wantErr(t, err, broker.ErrPermission, fmt.Sprintf("write on exchange %q", grant), "rabbitmqctl set_permissions")
			}
			for _, exchange := range c.missing {
				_, err := b.OpenOutlet(t.Context(), exchange, nil)
				wantErr(t, err, broker.ErrMissing, fmt.Sprintf("exchange %q does not exist", exchange))
			}
		}
		p.api("bindings/"+p.vhost(), &after)
		if fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("the bindings were\n%v and are\n%v", before, after)
		}
	})
}

func TestOutletOfAServerThatIsGone(t *testing.T) {
	t.Parallel()
	b, err := rabbitmq.Open(t.Context(), rabbitmq.Config{URL: "amqp://guest:secret@127.0.0.1:1/"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = b.OpenOutlet(t.Context(), "orders", nil)
	wantErr(t, err, broker.ErrUnreachable)
	if strings.Contains(err.Error(), "secret") {
		t.Error("the password is shown")
	}
	_, err = b.OpenOutlet(t.Context(), strings.Repeat("x", 256), nil)
	wantErr(t, err, broker.ErrConfig)
}

// TestOutletWhoseExchangeIsDeleted deletes it under a stream of messages, while
// another outlet of the same client goes on.
func TestOutletWhoseExchangeIsDeleted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		t.Parallel()
		p := newPlace(t, r)
		p.declare("orders", nil)
		p.declare("other", nil)
		p.bind("orders.out", "topic", "#", "orders")
		p.bind("other.out", "topic", "#", "other")
		b := p.open()
		o, other := p.outlet(b, "orders.out"), p.outlet(b, "other.out")
		unconfirmed := make(chan error, 1000)
		errs := p.stream(o, "k", func() {
			if err := p.plain.ExchangeDelete("orders.out", false, false); err != nil {
				p.Error(err)
			}
			for range cap(unconfirmed) {
				other.Publish("k", &broker.Message{Body: []byte("a")}, func(err error) { unconfirmed <- err })
			}
		})
		wantErr(t, o.Err(), broker.ErrMissing, `exchange "orders.out" does not exist`)
		if n := p.wantTrue(errs, "orders", broker.ErrMissing); n != 1 {
			t.Errorf("%d messages are certainly lost by the exchange, and it is one", n)
		}
		for range cap(unconfirmed) {
			if err := <-unconfirmed; err != nil {
				t.Fatalf("the other outlet: %v", err)
			}
		}
		_, err := b.OpenOutlet(t.Context(), "orders.out", nil)
		wantErr(t, err, broker.ErrMissing)

		p.bind("orders.out", "topic", "#", "orders")
		idle := p.outlet(b, "orders.out")
		if err := p.send(idle, "k", &broker.Message{}); err != nil {
			t.Error(err)
		}
		if err := p.plain.ExchangeDelete("orders.out", false, false); err != nil {
			t.Fatal(err)
		}
		wantErr(t, p.send(idle, "k", &broker.Message{}), broker.ErrMissing)
	})
}

// TestOutletWhoseGrantIsTakenAway: a channel remembers what it was allowed, and
// forgets it when nothing is published for a second or so.
func TestOutletWhoseGrantIsTakenAway(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		t.Parallel()
		p := newPlace(t, r)
		p.declare("orders", nil)
		p.bind("orders.out", "topic", "#", "orders")
		p.bind("other.out", "topic", "#", "orders")
		user := r.User(t, p.url, "relay", "^$", ".*", "^$")
		b := p.open(func(c *rabbitmq.Config) { c.URL = user })
		o, other := p.outlet(b, "orders.out"), p.outlet(b, "other.out")
		if err := p.send(o, "k", &broker.Message{}); err != nil {
			t.Fatal(err)
		}
		p.permit(user, "permissions", map[string]string{"configure": "^$", "write": `^other\.out$`, "read": "^$"})
		var err error
		last := time.Now()
		testenv.Eventually(t, 2*patience, "the grant is gone", func() bool {
			if time.Since(last) < 3*time.Second {
				return false
			}
			err = p.send(o, "k", &broker.Message{})
			last = time.Now()
			return err != nil
		})
		wantErr(t, err, broker.ErrPermission, `write on exchange "orders.out"`)
		<-o.Done()
		wantErr(t, o.Err(), broker.ErrPermission)
		if err := p.send(other, "k", &broker.Message{}); err != nil {
			t.Errorf("the other outlet: %v", err)
		}
		_, err = b.OpenOutlet(t.Context(), "orders.out", nil)
		wantErr(t, err, broker.ErrPermission)
	})
}

// permit changes what a user may do, by kind of permission.
func (p *place) permit(userURL, kind string, what any) {
	p.Helper()
	u, err := url.Parse(userURL)
	if err != nil {
		p.Fatal("the URL cannot be read")
	}
	p.broker.Management(p, http.MethodPut, "/api/"+kind+"/"+p.vhost()+"/"+u.User.Username(), what, nil)
}

// TestOutletWithTopicPermissions: they are about one key at a time, so that no
// outlet can be proven by them.
func TestOutletWithTopicPermissions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		t.Parallel()
		p := newPlace(t, r)
		p.declare("orders", nil)
		p.bind("orders.out", "topic", "#", "orders")
		user := r.User(t, p.url, "relay", "^$", ".*", "^$")
		p.permit(user, "topic-permissions", map[string]string{"exchange": "orders.out", "write": `^orders\.`, "read": "^$"})
		b := p.open(func(c *rabbitmq.Config) { c.URL = user })
		o := p.outlet(b, "orders.out")
		outcomes := make([]error, 20)
		var all sync.WaitGroup
		for i := range outcomes {
			key := "orders.placed"
			if i == 10 {
				key = "secrets.told"
			}
			all.Add(1)
			o.Publish(key, &broker.Message{Body: []byte(strconv.Itoa(i))}, func(err error) {
				outcomes[i] = err
				all.Done()
			})
		}
		all.Wait()
		wantErr(t, outcomes[10], broker.ErrPermission, `the routing key "secrets.told" is refused`, "set_topic_permissions")
		if n := p.wantTrue(outcomes, "orders", broker.ErrPermission); n != 1 {
			t.Errorf("%d messages are said to be refused, and it is one", n)
		}
		if err := p.send(p.outlet(b, "orders.out"), "orders.placed", &broker.Message{}); err != nil {
			t.Errorf("with a key that is allowed: %v", err)
		}
	})
}

// TestOutletThatIsRefused: a full queue refuses, and the outlet goes on.
func TestOutletThatIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		t.Parallel()
		p := newPlace(t, r)
		p.declare("full", amqp.Table{"x-max-length": int32(1), "x-overflow": "reject-publish"})
		p.declare("orders", nil)
		p.bind("orders.out", "direct", "full", "full")
		p.bind("orders.out", "direct", "orders", "orders")
		o := p.outlet(p.open(), "orders.out")
		if err := p.send(o, "full", &broker.Message{}); err != nil {
			t.Fatal(err)
		}
		p.wantDepth("full", 1)
		wantErr(t, p.send(o, "full", &broker.Message{}), broker.ErrRefused)
		wantErr(t, p.send(o, "nobody", &broker.Message{}), broker.ErrUnrouted)
		if err := p.send(o, "orders", &broker.Message{}); err != nil {
			t.Error(err)
		}
	})
}

// maxMessage is the most bytes of a body that the server takes: 16 MiB from
// RabbitMQ 4 on. Before, it takes 128, and is told to take less for the test.
func (p *place) maxMessage() int {
	p.Helper()
	if p.broker.Name != "rabbitmq3" {
		return 16 << 20
	}
	p.broker.Ctl(p, "eval", "application:set_env(rabbit, max_message_size, 1000000).")
	p.Cleanup(func() { p.broker.Ctl(p, "eval", "application:set_env(rabbit, max_message_size, 134217728).") })
	return 1000000
}

// TestOutletCannotCarry: what AMQP cannot carry disturbs nobody. Not parallel:
// it changes what the whole server takes.
func TestOutletCannotCarry(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", nil)
		p.bind("orders.out", "direct", "k", "orders")
		limit := p.maxMessage()
		o := p.outlet(p.open(), "orders.out")
		long, list := strings.Repeat("x", 256), []any{"other"}
		bad := map[string]struct {
			key string
			m   broker.Message
		}{
			"key":           {long, broker.Message{}},
			"id":            {"k", broker.Message{ID: long}},
			"type":          {"k", broker.Message{Type: long}},
			"header name":   {"k", broker.Message{Headers: map[string]any{long: "v"}}},
			"header value":  {"k", broker.Message{Headers: map[string]any{"v": struct{}{}}}},
			"headers":       {"k", broker.Message{Headers: map[string]any{"v": strings.Repeat("x", 130<<10)}}},
			"CC":            {"k", broker.Message{Headers: map[string]any{"CC": "other"}}},
			"BCC":           {"k", broker.Message{Headers: map[string]any{"BCC": "other"}}},
			"body":          {"k", broker.Message{Body: make([]byte, limit+1)}},
			"body and list": {"k", broker.Message{Body: make([]byte, limit+1000), Headers: map[string]any{"CC": list}}},
		}
		unconfirmed := make(chan error, 2*len(bad))
		refused := make(map[string]chan error, len(bad))
		for name, b := range bad {
			outcome := make(chan error, 2)
			refused[name] = outcome
			o.Publish("k", &broker.Message{Body: make([]byte, 900000)}, func(err error) { unconfirmed <- err })
			o.Publish(b.key, &b.m, func(err error) { outcome <- err })
			o.Publish("k", &broker.Message{Body: []byte("a")}, func(err error) { unconfirmed <- err })
		}
		for name, outcome := range refused {
			if err := <-outcome; !errors.Is(err, broker.ErrConfig) || len(err.Error()) > 400 {
				t.Errorf("%s: %v", name, err)
			}
		}
		for range cap(unconfirmed) {
			if err := <-unconfirmed; err != nil {
				t.Errorf("a neighbour: %v", err)
			}
		}
		if err := o.Err(); err != nil {
			t.Errorf("the outlet is over: %v", err)
		}
		if err := p.send(o, "k", &broker.Message{Headers: map[string]any{"CC": list, "n": int64(1)}}); err != nil {
			t.Errorf("with a list of keys: %v", err)
		}
	})
}

// TestOutletWhoseConfirmDoesNotCome ends, and does not wait for the others to
// be lost.
func TestOutletWhoseConfirmDoesNotCome(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		t.Parallel()
		p := newPlace(t, r)
		p.declare("orders", nil)
		p.bind("orders.out", "direct", "k", "orders")
		proxy, through := faultproxy.Before(t, p.url)
		b := p.open(func(c *rabbitmq.Config) {
			c.URL, c.Heartbeat, c.ConfirmTimeout, c.CallTimeout = through, time.Minute, 500*time.Millisecond, time.Second
		})
		o := p.outlet(b, "orders.out")
		if err := p.send(o, "k", &broker.Message{}); err != nil {
			t.Fatal(err)
		}
		proxy.Freeze(true)
		wantErr(t, p.send(o, "k", &broker.Message{}), broker.ErrUnknown, "confirmed nothing for 500ms")
		<-o.Done()
		wantErr(t, o.Err(), broker.ErrUnknown)
		if broker.Permanent(o.Err()) {
			t.Error("it is permanent")
		}
		proxy.Freeze(false)
		var again broker.Outlet
		testenv.Eventually(t, patience, "another outlet", func() bool {
			var err error
			again, err = b.OpenOutlet(t.Context(), "orders.out", nil)
			return err == nil
		})
		testenv.Eventually(t, patience, "it publishes", func() bool {
			if again.Err() != nil { // on the connection that was found wedged meanwhile
				again = p.outlet(b, "orders.out")
			}
			return p.send(again, "k", &broker.Message{}) == nil
		})
	})
}

// TestOutletOfAServerThatGoes kills the server under a stream of messages.
// RabbitMQ 3.10 is stopped in good order, as in TestServerGone. The queue is
// classic: RabbitMQ 4.3 loses what it confirmed for a quorum queue that was
// declared less than some seconds before it is killed.
func TestOutletOfAServerThatGoes(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", nil)
		p.bind("orders.out", "direct", "k", "orders")
		b := p.open()
		o := p.outlet(b, "orders.out")
		idle := p.outlet(b, "orders.out")
		gone := make(chan struct{})
		errs := p.stream(o, "k", func() {
			defer close(gone)
			if r.Name == "rabbitmq3" {
				r.Restart(p)
				return
			}
			r.Kill(p)
		})
		<-gone
		wantErr(t, o.Err(), broker.ErrUnreachable)
		r.Start(t)
		p.connect()
		p.wantTrue(errs, "orders", nil)
		testenv.Eventually(t, patience, "an outlet that was idle goes on, or a new one", func() bool {
			if idle.Err() != nil {
				var err error
				if idle, err = b.OpenOutlet(t.Context(), "orders.out", nil); err != nil {
					return false
				}
			}
			return p.send(idle, "k", &broker.Message{}) == nil
		})
	})
}
