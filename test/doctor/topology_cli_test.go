package doctor

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/topology"
)

// topology runs holdfast topology to its end.
func (c *clinic) topology(args ...string) *examination {
	c.t.Helper()
	return c.topologyWith(nil, args...)
}

func (c *clinic) topologyWith(env []string, args ...string) *examination {
	c.t.Helper()
	file, err := built()
	if err != nil {
		c.t.Fatal(err)
	}
	e := &examination{cmd: exec.Command(file, append([]string{"topology"}, args...)...), out: &stream{}, errOut: &stream{}}
	e.cmd.Env = append(os.Environ(), "AMQP_URL=", "HOLDFAST_BROKER="+c.url, "HOLDFAST_MANAGEMENT="+c.management)
	e.cmd.Env = append(e.cmd.Env, env...)
	e.cmd.Stdout, e.cmd.Stderr = e.out, e.errOut
	if err := e.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return c.wait(e)
}

func (c *clinic) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// shop makes a service's exchange and queue, and a Holdfast consumer on it, which
// makes its own.
func (c *clinic) shop() {
	c.t.Helper()
	c.must(c.ch.ExchangeDeclare("shop", amqp.ExchangeTopic, true, false, false, false, nil))
	for _, name := range []string{"billing.orders", "mail.outgoing"} {
		_, err := c.ch.QueueDeclare(name, true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
		c.must(err)
	}
	c.must(c.ch.QueueBind("billing.orders", "order.#", "shop", false, nil))
	rmq, err := rabbitmq.Open(c.t.Context(), rabbitmq.Config{URL: c.url})
	c.must(err)
	consumer, err := holdfast.NewConsumer(rmq, holdfast.ConsumerConfig{
		Queue: "billing.orders", Policy: holdfast.Policy{Ladder: []time.Duration{time.Second}},
		Handler: func(context.Context, *holdfast.Message) error { return nil },
	})
	c.must(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- consumer.Run(ctx) }()
	c.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			c.t.Error(err)
		}
		_ = rmq.Close()
	})
	testenv.Eventually(c.t, within, "the consumer is attached", func() bool { return consumer.Health().Ready() })
}

// file writes content to one of that name, and returns its path.
func (c *clinic) file(name string, content []byte) string {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), name)
	c.must(os.WriteFile(path, content, 0o600))
	return path
}

func (c *clinic) manifest(m topology.Manifest) string {
	c.t.Helper()
	text, err := m.Encode()
	c.must(err)
	return c.file(m.Service+".json", text)
}

// exported is the manifest of billing as the broker has it.
func (c *clinic) exported(args ...string) (topology.Manifest, string) {
	c.t.Helper()
	e := c.topology(append([]string{"export", "--service", "billing", "--prefix", "billing."}, args...)...)
	c.want(e, 0)
	m, err := topology.Parse([]byte(e.out.String()))
	c.must(err)
	return m, c.file("billing.json", []byte(e.out.String()))
}

func shopManifest(vhost, key string) topology.Manifest {
	return topology.Manifest{
		Version: 1, Service: "shop", VHost: vhost,
		Declares:  topology.Topology{Exchanges: []topology.Exchange{{Name: "shop", Type: "topic", Durable: true}}},
		Publishes: []topology.Publication{{Exchange: "shop", Key: key}},
	}
}

func TestTopologyOfAServiceIsExportedAndAgreesWithItsProducer(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		c.shop()
		m, file := c.exported("--owner", "team billing")
		if m.Owner != "team billing" || m.VHost != vhostOf(c.t, c.url) {
			c.t.Errorf("%+v", m)
		}
		if len(m.Declares.Queues) != 1 || len(m.Declares.Bindings) != 1 || len(m.Declares.Exchanges) != 1 || len(m.Consumes) != 1 {
			c.t.Errorf("what Holdfast makes itself, or another service, is in it: %+v", m)
		}
		_, again := c.exported("--owner", "team billing")
		one, err := os.ReadFile(file)
		c.must(err)
		two, err := os.ReadFile(again)
		c.must(err)
		if !bytes.Equal(one, two) {
			c.t.Errorf("two exports differ:\n%s\n%s", one, two)
		}

		least, _ := c.user("management")
		if byLeast, _ := c.exported("--owner", "team billing", "--management", least); !reflect.DeepEqual(byLeast, m) {
			c.t.Errorf("another user exports %+v", byLeast)
		}

		c.want(c.topology("check", file, c.manifest(shopManifest(m.VHost, "order.placed"))), 0, "2 manifests agree")
		c.want(c.topology("check", file, c.manifest(shopManifest(m.VHost, "ordered.placed"))), 1,
			"no binding takes it", `"billing.orders" is bound with "order.#"`, "nothing is published that it takes")
		e := c.topology("check", "--output", "json", file)
		c.want(e, 1)
		if o := c.objects(e); len(o) != 1 || o[0]["kind"] != "unpublished" {
			c.t.Errorf("%v", o)
		}
	})
}

func TestTopologyDiffForetellsWhatTheBrokerRefuses(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		c.shop()
		m, file := c.exported()
		c.want(c.topology("diff", "--prefix", "billing.", file), 0, "no difference")

		args := map[string]any{"x-queue-type": "quorum", "x-max-length": 10.0}
		m.Declares.Queues[0].Arguments = args
		m.Declares.Queues = append(m.Declares.Queues, topology.Queue{Name: "billing.refunds", Type: "quorum", Durable: true})
		m.Declares.Bindings = nil
		changed := c.manifest(m)
		c.want(c.topology("diff", "--prefix", "billing.", changed), 1,
			"changed queue billing.orders (406", "x-max-length: none → 10", "added queue billing.refunds", "removed binding")
		c.want(c.topology("diff", file, changed), 1, "changed queue billing.orders (406")

		// The broker keeps the promise.
		_, err := c.ch.QueueDeclare("billing.orders", true, false, false, false, amqp.Table{"x-queue-type": "quorum", "x-max-length": 10})
		var refused *amqp.Error
		if !errors.As(err, &refused) || refused.Code != amqp.PreconditionFailed {
			c.t.Errorf("the broker says %v", err)
		}
	})
}

func TestTopologyOfDefinitionsIsThatOfTheBroker(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		c.shop()
		_, live := c.exported()
		path := c.file("definitions.json", []byte(c.server.Ctl(c.t, "export_definitions", "-")))
		m, _ := c.exported("--definitions", path, "--vhost", vhostOf(c.t, c.url))
		c.want(c.topology("diff", live, c.manifest(m)), 0, "no difference")
		c.want(c.topologyWith([]string{"HOLDFAST_BROKER=", "HOLDFAST_MANAGEMENT="}, "diff", "--definitions", path, "--vhost", vhostOf(c.t, c.url), "--prefix", "billing.", live), 0)
	})
}

func TestTopologyGraphDrawsWhatEachHopPromises(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		c.shop()
		c.declareFaulty("work")
		c.want(c.topology("graph"), 0, "flowchart LR", "confirmed", "black hole", "order.#35;")
		c.want(c.topology("graph", "--format", "dot"), 0, "digraph topology", "confirmed", "black hole")
		_, file := c.exported()
		e := c.topology("graph", file)
		c.want(e, 0, "billing.orders")
		c.wantNot(e, "work")
	})
}

func TestTopologyExitCodes(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		bad := c.file("bad.json", []byte("{\"version\": 1,\n\"service\": \"x\",\n\"declare\": {}}"))
		other := c.manifest(shopManifest("elsewhere", "order.placed"))
		here := c.manifest(shopManifest("", "order.placed"))
		c.want(c.topology("check", bad), 2, "bad.json", "line 3", `"declare"`)
		c.want(c.topology("check"), 2)
		c.want(c.topology("check", "/does/not/exist"), 2, "no such file")
		c.want(c.topology("export"), 2, "--service")
		c.want(c.topology("export", "--service", "x", "--definitions", bad), 0)
		c.want(c.topology("export", "--service", "x", "--vhost", "no such"), 2, "no such")
		c.want(c.topology("graph", "--format", "svg"), 2, "mermaid or dot")
		c.want(c.topology("graph", other, here), 2, "elsewhere")
		c.want(c.topologyWith([]string{"HOLDFAST_BROKER=", "HOLDFAST_MANAGEMENT="}, "graph"), 2, "--definitions")

		c.secrets = append(c.secrets, "hush")
		c.want(c.topology("graph", "--management", "http://doctor:hush@"+deadAddress(c.t)), 3, "does not answer")
		c.want(c.topology("graph", "--management", c.managementAs(url.UserPassword("doctor", "hush"))), 3, "refuses the login")
	})
}

// TestManifestOfAUserThatMayNotIsFoundBeforeItsDeploy has a name that no service
// may declare, as a manifest rendered from a template has it.
func TestManifestOfAUserThatMayNotIsFoundBeforeItsDeploy(t *testing.T) {
	const manifestUser = "HF052"
	onEachClinic(t, func(c *clinic) {
		c.shop()
		u, err := url.Parse(c.server.User(c.t, c.url, "billing", `^billing\.`, `^billing\.`, `^(billing\.|shop$)`))
		if err != nil {
			c.t.Fatal("an URL cannot be read")
		}
		password, _ := u.User.Password()
		c.secrets = append(c.secrets, password)
		m, _ := c.exported("--user", u.User.Username())
		m.Declares.Exchanges = nil // shop is another service's
		c.want(c.examine("--only", manifestUser, "--manifest", c.manifest(m)), 0, "nothing found")

		const inert = "acme.audit-feed.dlq"
		m.Declares.Queues = append(m.Declares.Queues, topology.Queue{Name: inert, Type: "classic", Durable: true})
		e := c.examine("--only", manifestUser, "--output", "json", "--manifest", c.manifest(m))
		c.want(e, 1, manifestUser, `configure on \"`+inert)

		// The broker keeps the promise.
		conn, err := amqp.Dial(u.String())
		if err != nil {
			c.t.Fatal("no connection")
		}
		defer func() { _ = conn.Close() }()
		ch, err := conn.Channel()
		c.must(err)
		_, err = ch.QueueDeclare(inert, true, false, false, false, nil)
		var refused *amqp.Error
		if !errors.As(err, &refused) || refused.Code != amqp.AccessRefused {
			c.t.Errorf("the broker says %v", err)
		}
	})
}

func vhostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := amqp.ParseURI(address)
	if err != nil {
		t.Fatal("an URL cannot be read")
	}
	return u.Vhost
}
