package rabbitmq_test

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

type queueInfo struct {
	Name      string
	Type      string
	Durable   bool
	Arguments map[string]any
}

type exchangeInfo struct {
	Name      string
	Type      string
	Durable   bool
	Arguments map[string]any
}

type bindingInfo struct {
	Source      string
	Destination string
	RoutingKey  string `json:"routing_key"`
}

func (p *place) queues() map[string]queueInfo {
	var list []queueInfo
	p.api("queues/"+p.vhost(), &list)
	byName := map[string]queueInfo{}
	for _, q := range list {
		byName[q.Name] = q
	}
	return byName
}

func TestTopology(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", nil)
		before := p.queues()["orders"]
		s := p.session(p.open(), broker.Subscription{Queue: "orders", Rungs: []time.Duration{time.Second, 90 * time.Second}})
		endless := map[string]any{"x-queue-type": "quorum"}
		if r.Name == "rabbitmq4" {
			endless["x-delivery-limit"] = -1.0
		}
		rung := func(ms float64) map[string]any {
			return map[string]any{
				"x-queue-type": "quorum", "x-message-ttl": ms, "x-dead-letter-exchange": "holdfast.return",
				"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish",
			}
		}
		queues := p.queues()
		if !reflect.DeepEqual(queues["orders"], before) {
			t.Errorf("the source was changed: %+v", queues["orders"])
		}
		delete(queues, "orders")
		for name, want := range map[string]map[string]any{
			"holdfast.unrouted": endless, "orders.hold": endless, "orders.parked": endless,
			"holdfast.retry.1000": rung(1000), "holdfast.retry.90000": rung(90000),
		} {
			if got := queues[name]; !got.Durable || !reflect.DeepEqual(got.Arguments, want) {
				t.Errorf("%s: %+v, want %v", name, got, want)
			}
			delete(queues, name)
		}
		if len(queues) > 0 {
			t.Errorf("more queues: %v", queues)
		}
		p.wantExchanges(map[string]string{
			"holdfast": "direct", "holdfast.return": "direct", "holdfast.unrouted": "fanout",
			"holdfast.retry.1000": "fanout", "holdfast.retry.90000": "fanout",
		})
		p.wantBindings(map[bindingInfo]bool{
			{"holdfast", "orders.hold", "orders.hold"}:                               true,
			{"holdfast", "orders.parked", "orders.parked"}:                           true,
			{"holdfast.return", "orders", "orders"}:                                  true,
			{"holdfast.unrouted", "holdfast.unrouted", "holdfast.unrouted"}:          true,
			{"holdfast.retry.1000", "holdfast.retry.1000", "holdfast.retry.1000"}:    true,
			{"holdfast.retry.90000", "holdfast.retry.90000", "holdfast.retry.90000"}: true,
		})
		if text := s.Capabilities().Broker; !strings.HasPrefix(text, "RabbitMQ "+r.Name[len(r.Name)-1:]) {
			t.Errorf("the broker is %q", text)
		}
	})
}

func (p *place) wantExchanges(want map[string]string) {
	p.Helper()
	var list []exchangeInfo
	p.api("exchanges/"+p.vhost(), &list)
	got := map[string]string{}
	for _, e := range list {
		if strings.HasPrefix(e.Name, "holdfast") {
			got[e.Name] = e.Type
			if !e.Durable {
				p.Errorf("exchange %s is not durable", e.Name)
			}
		}
		if e.Name == "holdfast.return" && e.Arguments["alternate-exchange"] != "holdfast.unrouted" {
			p.Errorf("its alternate exchange is %v", e.Arguments)
		}
	}
	if !reflect.DeepEqual(got, want) {
		p.Errorf("exchanges %v, want %v", got, want)
	}
}

func (p *place) wantBindings(want map[bindingInfo]bool) {
	p.Helper()
	var list []bindingInfo
	p.api("bindings/"+p.vhost(), &list)
	got := map[bindingInfo]bool{}
	for _, b := range list {
		if b.Source != "" {
			got[b] = true
		}
	}
	if !reflect.DeepEqual(got, want) {
		p.Errorf("bindings %v, want %v", got, want)
	}
}

func TestTopologyOptions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", nil)
		b := p.open(func(c *rabbitmq.Config) { c.Namespace, c.SharedParked, c.Rungs = "shop", true, rabbitmq.RungClassic })
		s := p.session(b, broker.Subscription{Queue: "orders", Rungs: []time.Duration{50 * time.Millisecond}})
		queues := p.queues()
		want := map[string]any{"x-queue-type": "classic", "x-message-ttl": 50.0, "x-dead-letter-exchange": "shop.return"}
		if got := queues["shop.retry.50"]; !reflect.DeepEqual(got.Arguments, want) {
			t.Errorf("the rung is %+v", got)
		}
		if _, own := queues["orders.parked"]; own || queues["shop.parked"].Name == "" {
			t.Errorf("queues: %v", queues)
		}
		p.publish("", "orders", amqp.Publishing{Body: []byte("a")})
		p.consume(s, 1)
		d := p.receive(s)
		p.mustSettle(d, broker.Settlement{Fate: broker.FateDelay, Delay: 50 * time.Millisecond, Capture: capture(d)})
		d = p.receive(s)
		p.mustSettle(d, broker.Settlement{Fate: broker.FatePark, Capture: capture(d)})
		if m := p.get("shop.parked"); string(m.Body) != "a" {
			t.Errorf("parked: %+v", m)
		}
	})
}

func TestServerNamedSource(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		q, err := p.plain.QueueDeclare("", true, false, false, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := p.session(p.open(), broker.Subscription{Queue: q.Name})
		if c := s.Capabilities(); c.Hold || c.Counts || !c.Delay {
			t.Errorf("capabilities %+v", c)
		}
		p.publish("", q.Name, amqp.Publishing{Body: []byte("a")})
		p.consume(s, 1)
		d := p.receive(s)
		wantErr(t, p.settle(d, broker.Settlement{Fate: broker.FateHold, Capture: capture(d)}), broker.ErrUnsupported)
		p.mustSettle(d, broker.Settlement{Fate: broker.FatePark, Capture: capture(d)})
		p.get("holdfast.parked")
	})
}

func TestOpenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", nil)
		sub := broker.Subscription{Queue: "orders", Rungs: []time.Duration{time.Second}}
		refuse := func(name string, b *rabbitmq.Broker, sub broker.Subscription, class error, texts ...string) {
			t.Run(name, func(t *testing.T) {
				_, err := b.Open(t.Context(), sub)
				wantErr(t, err, class, texts...)
				if !broker.Permanent(err) {
					t.Errorf("%v is not permanent", err)
				}
			})
		}
		refuse("missing queue", p.open(), broker.Subscription{Queue: "none"}, broker.ErrMissing, `queue "none" does not exist: declare it`)
		if queues := p.queues(); len(queues) != 1 {
			t.Errorf("something was declared for a queue that does not exist: %v", queues)
		}
		at := func(change func(*url.URL)) *rabbitmq.Broker {
			u, err := url.Parse(p.url)
			if err != nil {
				t.Fatal(err)
			}
			change(u)
			return p.open(func(c *rabbitmq.Config) { c.URL = u.String() })
		}
		refuse("wrong password", at(func(u *url.URL) { u.User = url.UserPassword("guest", "hunter2") }), sub,
			broker.ErrCredentials, `user "guest"`, "check the user name and the password")
		refuse("no virtual host", at(func(u *url.URL) { u.Path = "/nowhere" }), sub, broker.ErrMissing, `no virtual host "nowhere"`)
		other := newPlace(t, r)
		stranger := r.User(t, other.url, "stranger", ".*", ".*", ".*")
		refuse("no access to the virtual host", at(func(u *url.URL) {
			v, _ := url.Parse(stranger)
			u.User = v.User
		}), sub, broker.ErrPermission, "grant it")

		p.declare("holdfast.retry.1000", amqp.Table{
			"x-queue-type": "quorum", "x-message-ttl": int64(2000), "x-dead-letter-exchange": "holdfast.return",
			"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish",
		})
		refuse("another argument", p.open(), sub, broker.ErrMismatch,
			`queue "holdfast.retry.1000"`, "x-message-ttl", "1000", "2000", "delete or rename it", "another namespace")
		if _, err := p.plain.QueueDelete("holdfast.retry.1000", false, false, false); err != nil {
			t.Fatal(err)
		}
		if err := p.plain.ExchangeDeclare("shop", "topic", true, false, false, false, nil); err != nil {
			t.Fatal(err)
		}
		refuse("another exchange type", p.open(func(c *rabbitmq.Config) { c.Namespace = "shop" }), sub, broker.ErrMismatch,
			`exchange "shop"`, "type", "direct", "topic")
		p.declare("log", amqp.Table{"x-queue-type": "stream"})
		refuse("a stream", p.open(), broker.Subscription{Queue: "log"}, broker.ErrUnsupported, "stream")
	})
}

func TestMissingGrantsAreNamed(t *testing.T) {
	t.Parallel()
	const all = ".*"
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", nil)
		sub := broker.Subscription{Queue: "orders", Rungs: []time.Duration{time.Second}}
		for name, c := range map[string]struct {
			configure, write, read string
			names                  []string
		}{
			"nothing may be declared":      {"^$", all, all, []string{"configure", `"holdfast"`}},
			"no hold":                      {`^(holdfast.*|orders\.parked)$`, all, all, []string{"configure", `"orders.hold"`}},
			"the source may not be bound":  {all, `^(holdfast.*|orders\..*)$`, all, []string{"write", `"orders"`}},
			"no copies may be published":   {all, `^(holdfast\..*|orders.*)$`, all, []string{"write", `exchange "holdfast"`}},
			"the rung may not be written":  {all, `^(holdfast|holdfast\.(return|unrouted)|orders.*)$`, all, []string{"write", `"holdfast.retry.1000"`}},
			"the return may not be read":   {all, all, `^(orders.*|holdfast|holdfast\.(unrouted|retry.*))$`, []string{"read", `"holdfast.return"`}},
			"the source may not be read":   {all, all, `^(holdfast.*|orders\..+)$`, []string{"read", `"orders"`}},
			"the strays may not be routed": {all, `^(holdfast|holdfast\.(return|retry.*)|orders.*)$`, all, []string{"write", `"holdfast.unrouted"`}},
		} {
			t.Run(name, func(t *testing.T) {
				user := r.User(t, p.url, "svc", c.configure, c.write, c.read)
				b := p.open(func(conf *rabbitmq.Config) { conf.URL = user })
				s, err := b.Open(t.Context(), sub)
				if err == nil {
					err = s.Consume(t.Context(), 1)
				}
				wantErr(t, err, broker.ErrPermission, append(c.names, `user "svc-`)...)
			})
		}
	})
}

// TestLeastPrivilege runs every fate as a user who may touch nothing outside
// of the service's own prefix.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		const queue, own = "billing-service.orders", `^(billing-service\..*)$`
		p.declare(queue, quorum)
		user := r.User(t, p.url, "billing", own, own, own)
		b := p.open(func(c *rabbitmq.Config) { c.URL, c.Namespace = user, "billing-service.holdfast" })
		s := p.everyFate(b, queue)
		if c := s.Capabilities(); !c.Counts {
			t.Errorf("capabilities %+v", c)
		}
		err := b.Publish(t.Context(), broker.Target{Queue: queue}, &broker.Message{Body: []byte("b")})
		if err != nil {
			t.Fatal(err)
		}
		p.mustSettle(p.receive(s), broker.Settlement{Fate: broker.FateDone})

		_, err = b.Open(t.Context(), broker.Subscription{Queue: queue, Replies: true})
		wantErr(t, err, broker.ErrPermission, "sending replies", "write", "amq.default")
	})
}

// TestUpgradedQueues simulates an upgrade from RabbitMQ 3, which declares the
// kept queues without a delivery limit.
func TestUpgradedQueues(t *testing.T) {
	t.Parallel()
	r := testenv.Need(t, "rabbitmq4")
	p := newPlace(t, r)
	p.declare("orders", nil)
	p.declare("orders.parked", quorum)
	told := &notices{}
	p.session(p.open(), broker.Subscription{Queue: "orders", Notify: told.add})
	warnings := told.of(broker.NoticeWarning)
	if len(warnings) != 1 || !strings.Contains(warnings[0], `"orders.parked"`) || !strings.Contains(warnings[0], "20") {
		t.Errorf("warnings: %q", warnings)
	}
	p.declare("other", nil)
	p.declare("other.parked", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": 5})
	_, err := p.open().Open(t.Context(), broker.Subscription{Queue: "other"})
	wantErr(t, err, broker.ErrMismatch, "x-delivery-limit", "-1", "5")
}

// TestAutoDeleteSource: a pause cancels the only consumer, and the broker
// would delete such a queue with all that is in it.
func TestAutoDeleteSource(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		b := p.open()
		for name, durable := range map[string]bool{"durable": true, "transient": false} {
			declare := func(autoDelete bool) {
				if _, err := p.plain.QueueDeclare(name, durable, autoDelete, false, false, nil); err != nil {
					t.Fatal(err)
				}
			}
			declare(true)
			_, err := b.Open(t.Context(), broker.Subscription{Queue: name})
			wantErr(t, err, broker.ErrConfig, strconv.Quote(name), "auto-delete", "declare it without", "x-expires")
			if queues := p.queues(); len(queues) != 1 {
				t.Errorf("something was declared for it: %v", queues)
			}
			// Declared anew it is taken, by the same broker.
			if _, err := p.plain.QueueDelete(name, false, false, false); err != nil {
				t.Fatal(err)
			}
			declare(false)
			s := p.session(b, broker.Subscription{Queue: name})
			if c := s.Capabilities(); c.Hold != durable {
				t.Errorf("%s: capabilities %+v", name, c)
			}
			closeSession(p, s)
			for queue := range p.queues() {
				if _, err := p.plain.QueueDelete(queue, false, false, false); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestTransientSource: the queue may be gone when a hold ends.
func TestTransientSource(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		if _, err := p.plain.QueueDeclare("brief", false, false, false, false, nil); err != nil {
			t.Fatal(err)
		}
		const rung = 50 * time.Millisecond
		s := p.session(p.open(), broker.Subscription{Queue: "brief", Rungs: []time.Duration{rung}, Hold: time.Second})
		if c := s.Capabilities(); c.Hold || c.Counts || !c.Delay {
			t.Errorf("capabilities %+v", c)
		}
		if _, there := p.queues()["brief.hold"]; there {
			t.Error("a hold was declared")
		}
		p.publish("", "brief", amqp.Publishing{Body: []byte("a")})
		p.consume(s, 1)
		d := p.receive(s)
		wantErr(t, p.settle(d, broker.Settlement{Fate: broker.FateHold, Capture: capture(d)}), broker.ErrUnsupported, `"brief"`)
		p.mustSettle(d, broker.Settlement{Fate: broker.FateDelay, Delay: rung, Capture: capture(d)})
		d = p.receive(s)
		p.mustSettle(d, broker.Settlement{Fate: broker.FatePark, Capture: capture(d)})
		p.get("brief.parked")
	})
}

// TestDocumentedGrants runs every fate with the grants of docs/permissions.md
// and not one more: the source may not be configured.
func TestDocumentedGrants(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		p := newPlace(t, r)
		p.declare("orders", quorum)
		const (
			own  = `^(svc\.holdfast|svc\.holdfast\..*|orders\..*)$`
			used = `^(svc\.holdfast|svc\.holdfast\..*|orders\..*|orders)$`
		)
		user := r.User(t, p.url, "svc", own, used, used)
		b := p.open(func(c *rabbitmq.Config) { c.URL, c.Namespace = user, "svc.holdfast" })
		p.everyFate(b, "orders")
	})
}

// everyFate takes one message of queue through retry, hold, release, park and
// replay, and returns the session, which consumes.
func (p *place) everyFate(b *rabbitmq.Broker, queue string) broker.Session {
	p.Helper()
	const rung = 50 * time.Millisecond
	s := p.session(b, broker.Subscription{Queue: queue, Rungs: []time.Duration{rung}, Hold: 100 * time.Millisecond})
	p.publish("", queue, amqp.Publishing{Body: []byte("a")})
	p.consume(s, 1)
	for _, what := range []broker.Settlement{
		{Fate: broker.FateDelay, Delay: rung}, {Fate: broker.FateHold}, {Fate: broker.FateRelease}, {Fate: broker.FatePark},
	} {
		d := p.receive(s)
		what.Capture = capture(d)
		p.mustSettle(d, what)
	}
	p.wantDepth(queue+".parked", 1)
	sifted, err := b.Sift(p.Context(), queue+".parked", broker.SiftOptions{}, copyTo(broker.Target{Queue: queue, Key: "order.new"}))
	if err != nil || sifted.Copied != 1 {
		p.Fatalf("replay: %+v, %v", sifted, err)
	}
	d := p.receive(s)
	if m := d.Message(); m.Origin.Key != "order.new" || m.Attempt != 1 {
		p.Errorf("replayed: %+v", m)
	}
	p.mustSettle(d, broker.Settlement{Fate: broker.FateDone})
	return s
}
