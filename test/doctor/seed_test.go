package doctor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/topology"
)

// fault is one that is made on a real broker.
type fault struct {
	id      string
	subject string // a part of it
	only    string // a version: rabbitmq3 or rabbitmq4
	seed    func(s *seeder)
}

// seeder makes faults. Consumers and publishers have connections of their own.
type seeder struct {
	*clinic
	consumers *amqp.Channel
	version   string
}

const (
	classic = "classic"
	quorum  = "quorum"
)

func (s *seeder) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// queue declares a queue that gives no cause for a finding by itself.
func (s *seeder) queue(name, kind string, args amqp.Table) {
	s.t.Helper()
	all := amqp.Table{"x-queue-type": kind}
	if kind == quorum && s.version == "rabbitmq4" {
		all["x-delivery-limit"] = -1
	}
	for k, v := range args {
		all[k] = v
		if v == nil {
			delete(all, k)
		}
	}
	_, err := s.ch.QueueDeclare(name, true, false, false, false, all)
	s.must(err)
}

func (s *seeder) exchange(name, kind string, args amqp.Table) {
	s.t.Helper()
	s.must(s.ch.ExchangeDeclare(name, kind, true, false, false, false, args))
}

func (s *seeder) bind(queue, key, exchange string) {
	s.t.Helper()
	s.must(s.ch.QueueBind(queue, key, exchange, false, nil))
}

func (s *seeder) publish(exchange, key string, n int) {
	s.t.Helper()
	for range n {
		s.must(s.ch.Publish(exchange, key, false, false, amqp.Publishing{Body: []byte("x"), DeliveryMode: amqp.Persistent}))
	}
}

// consume takes messages and settles none.
func (s *seeder) consume(ch *amqp.Channel, queue string, prefetch int, global, auto bool) {
	s.t.Helper()
	s.must(ch.Qos(prefetch, 0, global))
	_, err := ch.Consume(queue, "", auto, false, false, false, nil)
	s.must(err)
}

func (s *seeder) open() *amqp.Channel {
	s.t.Helper()
	conn, err := amqp.Dial(s.url)
	if err != nil {
		s.t.Fatal("no connection")
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	ch, err := conn.Channel()
	s.must(err)
	return ch
}

func (s *seeder) policy(name, pattern string, definition map[string]any) {
	s.t.Helper()
	s.server.Management(s.t, http.MethodPut, "/api/policies/"+s.vhost()+"/"+name,
		map[string]any{"pattern": pattern, "definition": definition, "apply-to": "queues"}, nil)
}

func (s *seeder) vhost() string {
	u, _ := url.Parse(s.url)
	return strings.TrimPrefix(u.EscapedPath(), "/")
}

// deadLetters makes a queue with its dead-letter exchange and queue in order.
func (s *seeder) deadLetters(name, kind string, args amqp.Table) {
	s.t.Helper()
	s.exchange(name+".dlx", amqp.ExchangeDirect, nil)
	s.queue(name+".dlq", classic, nil)
	s.bind(name+".dlq", "dead", name+".dlx")
	all := amqp.Table{"x-dead-letter-exchange": name + ".dlx", "x-dead-letter-routing-key": "dead"}
	for k, v := range args {
		all[k] = v
	}
	s.queue(name, kind, all)
}

// faultsOfABroker can be made without breaking the node. HF005 is not among them:
// RabbitMQ 4.3 obeys such a policy. HF021 is made by a bound on a channel, which
// 4.3 shows as one of its consumer, so that it is HF022 there.
var faultsOfABroker = []fault{
	{id: "HF001", subject: "f001.gone", seed: func(s *seeder) {
		s.queue("f001", classic, amqp.Table{"x-dead-letter-exchange": "f001.gone"})
	}},
	{id: "HF002", subject: "f002.dlx", seed: func(s *seeder) {
		s.exchange("f002.dlx", amqp.ExchangeFanout, nil)
		s.queue("f002", classic, amqp.Table{"x-dead-letter-exchange": "f002.dlx"})
	}},
	{id: "HF003", subject: `"f003"`, seed: func(s *seeder) {
		s.deadLetters("f003", classic, amqp.Table{"x-dead-letter-routing-key": "other"})
	}},
	{id: "HF004", subject: "f004", only: "rabbitmq4", seed: func(s *seeder) {
		s.queue("f004", quorum, amqp.Table{"x-delivery-limit": nil})
	}},
	{id: "HF006", subject: "f006", only: "rabbitmq3", seed: func(s *seeder) {
		s.queue("f006", quorum, amqp.Table{"x-delivery-limit": -1})
	}},
	{id: "HF007", subject: `"f007"`, seed: func(s *seeder) {
		s.deadLetters("f007", quorum, amqp.Table{"x-dead-letter-strategy": "at-least-once"})
	}},
	{id: "HF008", subject: "f008", seed: func(s *seeder) {
		for here, there := range map[string]string{"f008.a": "f008.b", "f008.b": "f008.a"} {
			s.queue(here, classic, amqp.Table{"x-message-ttl": 600000, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": there})
		}
	}},
	{id: "HF009", subject: "f009", seed: func(s *seeder) { s.queue("f009", classic, amqp.Table{"x-expires": 600000}) }},
	{id: "HF010", subject: "f010", seed: func(s *seeder) {
		s.exchange("f010", amqp.ExchangeTopic, amqp.Table{"alternate-exchange": "f010.gone"})
	}},
	{id: "HF020", subject: "f020", seed: func(s *seeder) { s.queue("f020", classic, nil); s.publish("", "f020", 3) }},
	{id: "HF021", subject: "f021", only: "rabbitmq3", seed: func(s *seeder) {
		s.queue("f021", classic, nil)
		s.publish("", "f021", 3)
		s.consume(s.open(), "f021", 1, true, false)
	}},
	{id: "HF022", subject: "f022", seed: func(s *seeder) {
		s.queue("f022", classic, nil)
		s.publish("", "f022", 3)
		s.consume(s.open(), "f022", 1, false, false)
	}},
	{id: "HF024", subject: "f024.parked", seed: func(s *seeder) { s.queue("f024.parked", classic, nil) }},
	{id: "HF026", subject: `"f026"`, seed: func(s *seeder) {
		s.deadLetters("f026", quorum, amqp.Table{"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish", "x-message-ttl": 1})
		_, err := s.ch.QueueDelete("f026.dlq", false, false, false)
		s.must(err)
		s.queue("f026.dlq", classic, amqp.Table{"x-max-length": 1, "x-overflow": "reject-publish"})
		s.bind("f026.dlq", "dead", "f026.dlx")
		s.publish("", "f026.dlq", 1)
		s.publish("", "f026", 5)
	}},
	{id: "HF027", subject: "f026.dlq", seed: func(*seeder) {}}, // that queue itself: nobody looks at it
	{id: "HF028", subject: "f028.parked", seed: func(s *seeder) {
		s.queue("f028.parked", quorum, nil)
		s.policy("f028", "^f028[.]", map[string]any{"message-ttl": 600000})
	}},
	{id: "HF029", subject: "f029.parked", seed: func(s *seeder) { s.queue("f029.parked", quorum, amqp.Table{"x-delivery-limit": 5}) }},
	{id: "HF030", subject: "holdfast.unrouted", seed: func(s *seeder) {
		s.queue("holdfast.unrouted", classic, nil)
		s.publish("", "holdfast.unrouted", 1)
	}},
	{id: "HF032", subject: "f032.wait", seed: func(s *seeder) {
		s.queue("f032", classic, nil)
		s.consume(s.consumers, "f032", 10, false, false)
		s.queue("f032.wait", classic, amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "f032"})
	}},
	{id: "HF033", subject: "f033", seed: func(s *seeder) {
		s.queue("f033", classic, nil)
		s.consume(s.consumers, "f033", 10, false, true)
	}},
	{id: "HF036", subject: "node", seed: func(*seeder) {}},
	{id: "HF043", subject: "connection", seed: func(s *seeder) {
		s.queue("f043", classic, nil)
		ch := s.open()
		s.must(ch.Confirm(false))
		s.consume(ch, "f043", 1, false, false)
	}},
	{id: "HF058", subject: "inert.dlq", seed: func(s *seeder) {
		s.server.User(s.t, s.url, "services", "^(f|holdfast|shop)", "^(f|holdfast|shop)", "^(f|holdfast|shop)")
		s.queue("inert.dlq", classic, nil)
	}},
	{id: "HF055", subject: "f055", seed: func(s *seeder) { s.queue("f055", classic, amqp.Table{"x-max-priority": 5}) }},
	{id: "HF070", subject: "f070", seed: func(*seeder) {}},
	{id: "HF071", subject: "f071", seed: func(*seeder) {}},
	{id: "HF073", subject: "f073", seed: func(s *seeder) {
		s.exchange("f073", amqp.ExchangeTopic, nil)
		s.publish("f073", "nobody.binds.this", 7)
	}},
}

// manifests are of two services that disagree.
var manifests = []topology.Manifest{
	{Version: 1, Service: "shop", Publishes: []topology.Publication{{Exchange: "shop", Key: "f071"}}},
	{Version: 1, Service: "billing", Declares: topology.Topology{
		Exchanges: []topology.Exchange{{Name: "shop", Type: "topic", Durable: true}},
		Queues:    []topology.Queue{{Name: "f055", Type: classic, Durable: true, Arguments: map[string]any{"x-max-priority": 10.0}}},
		Bindings:  []topology.Binding{{Source: "shop", Destination: "f055", Key: "f070"}},
	}},
}

func TestEveryFaultOfABrokerIsFoundOnce(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		s := &seeder{clinic: c, version: c.server.Name}
		s.consumers = s.open()
		want := map[string]string{}
		for _, f := range faultsOfABroker {
			if f.only == "" || f.only == s.version {
				f.seed(s)
				want[f.id] = f.subject
			}
		}
		s.diagnoses(want, manifests...)
	})
}

// diagnoses looks again and again until exactly these findings are there: the
// broker's own numbers are some seconds old.
func (s *seeder) diagnoses(want map[string]string, manifests ...topology.Manifest) {
	s.t.Helper()
	client, err := management.New(management.Config{URL: s.management, VHost: strings.TrimPrefix(mustPath(s.url), "/")})
	s.must(err)
	var r doctor.Report
	before := s.look(client)
	deadline := time.Now().Add(2 * within)
	for {
		s.publish("", "f024.parked", 20) // a queue that is not there drops them
		now := s.lookLater(client, before)
		r = doctor.Examine(&doctor.Facts{Now: time.Now(), RabbitMQ: now, Before: before, Manifests: manifests})
		if complaint := compare(r.Findings, want); complaint == "" {
			return
		} else if time.Now().After(deadline) {
			s.t.Fatalf("%s", complaint)
		}
		before = now
	}
}

func mustPath(address string) string {
	u, _ := url.Parse(address)
	return u.Path
}

func (s *seeder) look(client *management.Client) *management.Snapshot {
	s.t.Helper()
	snapshot, err := client.Snapshot(s.t.Context())
	s.must(err)
	return snapshot
}

// lookLater looks once the broker has counted anew.
func (s *seeder) lookLater(client *management.Client, before *management.Snapshot) (now *management.Snapshot) {
	s.t.Helper()
	testenv.Eventually(s.t, within, "time for a second look", func() bool { return time.Since(before.TakenAt) > 6*time.Second })
	return s.look(client)
}

// compare says what is missing and what is too much.
func compare(found []doctor.Finding, want map[string]string) string {
	var wrong []string
	times := map[string]int{}
	for _, f := range found {
		times[f.ID]++
		if subject, expected := want[f.ID]; !expected || !strings.Contains(f.Subject, subject) {
			wrong = append(wrong, fmt.Sprintf("not expected: %s %s: %s %q", f.ID, f.Subject, f.Summary, f.Evidence))
		}
		if len(f.Evidence) == 0 || f.Evidence[0] == "" {
			wrong = append(wrong, fmt.Sprintf("%s %s has no evidence", f.ID, f.Subject))
		}
	}
	for id, subject := range want {
		if times[id] != 1 {
			wrong = append(wrong, fmt.Sprintf("%s of %s is found %d times", id, subject, times[id]))
		}
	}
	slices.Sort(wrong)
	return strings.Join(wrong, "\n")
}

// TestAnAlarmIsFoundWithWhomItBlocks needs the whole node.
func TestAnAlarmIsFoundWithWhomItBlocks(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		s := &seeder{clinic: c, version: c.server.Name}
		limit := "0.4"
		if s.version == "rabbitmq4" {
			limit = "0.6"
		}
		c.server.Ctl(t, "set_vm_memory_high_watermark", "0.00001")
		t.Cleanup(func() { c.server.Ctl(t, "set_vm_memory_high_watermark", limit) })
		s.publish("", "nobody", 1)
		s.diagnoses(map[string]string{"HF040": "node"})
		c.server.Ctl(t, "set_vm_memory_high_watermark", limit)
		s.diagnoses(map[string]string{})
	})
}

// TestABrokerThatIsWellGivesNoFinding has what a consumer makes and leaves behind
// that was through retries, a hold and a park.
func TestABrokerThatIsWellGivesNoFinding(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		s := &seeder{clinic: c, version: c.server.Name}
		s.queue("orders", quorum, amqp.Table{"x-delivery-limit": nil})
		s.exchange("shop", amqp.ExchangeTopic, nil)
		s.bind("orders", "order.#", "shop")
		rmq, err := rabbitmq.Open(t.Context(), rabbitmq.Config{URL: c.url})
		s.must(err)
		consumer, err := holdfast.NewConsumer(rmq, holdfast.ConsumerConfig{
			Queue: "orders", Policy: holdfast.Policy{Ladder: []time.Duration{100 * time.Millisecond}, Hold: time.Second},
			Handler: func(_ context.Context, m *holdfast.Message) error {
				switch {
				case string(m.Body) == "hold" && m.Lap == 0:
					return holdfast.Hold(fmt.Errorf("down"))
				case string(m.Body) == "retry" && m.Attempt == 1, string(m.Body) == "park":
					return fmt.Errorf("fails")
				}
				return nil
			},
		})
		s.must(err)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- consumer.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			s.must(<-ended)
			_ = rmq.Close()
		})
		testenv.Eventually(t, within, "the consumer is attached", func() bool { return consumer.Health().Ready() })
		for _, body := range []string{"well", "retry", "hold", "park"} {
			s.must(s.ch.Publish("shop", "order.placed", false, false, amqp.Publishing{Body: []byte(body), DeliveryMode: amqp.Persistent}))
		}
		testenv.Eventually(t, within, "all were through it", func() bool { b := consumer.Books(); return b.Done == 3 && b.Parked == 1 })
		s.diagnoses(map[string]string{"HF036": "node"})
	})
}
