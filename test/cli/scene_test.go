package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

const (
	namespace = "billing-service.holdfast"
	queue     = "billing-service.orders"
	parked    = queue + ".parked"

	within = 60 * time.Second
)

// scene is a virtual host with an administrator, who plays producers and
// looks at the outcome, and a service account that has the rights of one
// service and no more. The commands run as the service account.
type scene struct {
	t     *testing.T
	url   string // the service account's
	admin string
	conn  *amqp.Connection
	ch    *amqp.Channel
}

// onEach runs test on every RabbitMQ that is there.
func onEach(t *testing.T, test func(s *scene)) {
	t.Helper()
	for _, r := range testenv.RabbitMQs(t) {
		t.Run(r.Name, func(t *testing.T) {
			s := &scene{t: t, admin: r.VHost(t)}
			only := `^(billing-service\..*)$`
			s.url = r.User(t, s.admin, "billing-service", only, only, only)
			s.dial()
			test(s)
		})
	}
}

func (s *scene) dial() {
	s.t.Helper()
	var err error
	if s.conn, err = amqp.Dial(s.admin); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.conn.Close() })
	if s.ch, err = s.conn.Channel(); err != nil {
		s.t.Fatal(err)
	}
	if err := s.ch.Confirm(false); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// declare makes a quorum queue.
func (s *scene) declare(name string, args amqp.Table) {
	s.t.Helper()
	table := amqp.Table{"x-queue-type": "quorum"}
	for k, v := range args {
		table[k] = v
	}
	_, err := s.ch.QueueDeclare(name, true, false, false, false, table)
	s.ok(err)
}

// declareSource makes the service's queue, bound to an exchange that is not
// the service's.
func (s *scene) declareSource(args amqp.Table) {
	s.t.Helper()
	s.declare(queue, args)
	s.ok(s.ch.ExchangeDeclare("shop", "topic", true, false, false, false, nil))
	s.ok(s.ch.QueueBind(queue, "orders.*", "shop", false, nil))
}

// publish sends messages and waits until the broker has all of them.
func (s *scene) publish(exchange, key string, messages ...amqp.Publishing) {
	s.t.Helper()
	var last *amqp.DeferredConfirmation
	for _, m := range messages {
		m.DeliveryMode = amqp.Persistent
		var err error
		last, err = s.ch.PublishWithDeferredConfirm(exchange, key, true, false, m)
		s.ok(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), within)
	defer cancel()
	if stored, err := last.WaitContext(ctx); err != nil || !stored {
		s.t.Fatalf("the broker did not store a message: %v", err)
	}
}

func order(id, body string) amqp.Publishing {
	return amqp.Publishing{MessageId: id, Body: []byte(body), ContentType: "application/json", Headers: amqp.Table{"tenant": "acme"}}
}

// parkedOrder is a message as Holdfast parks it.
func parkedOrder(id string) amqp.Publishing {
	m := order(id, `{"id":"`+id+`"}`)
	c := broker.Capture{
		ID: "capture-" + id, Attempt: 5, Reason: broker.ReasonExhausted, Error: "bank down",
		Origin:        broker.Origin{Exchange: "shop", Key: "orders.created", Queue: queue},
		FirstFailedAt: time.Now(), FailedAt: time.Now(),
	}
	c.Each(func(name string, v any) { m.Headers[name] = v })
	return m
}

// drain takes everything out of a queue, without disturbing a later look.
func (s *scene) drain(name string) []amqp.Delivery {
	s.t.Helper()
	var out []amqp.Delivery
	ch, err := s.conn.Channel()
	s.ok(err)
	defer func() { _ = ch.Close() }()
	for {
		m, ok, err := ch.Get(name, true)
		s.ok(err)
		if !ok {
			return out
		}
		out = append(out, m)
	}
}

func (s *scene) depth(name string) int {
	s.t.Helper()
	ch, err := s.conn.Channel()
	s.ok(err)
	defer func() { _ = ch.Close() }()
	q, err := ch.QueueDeclarePassive(name, true, false, false, false, nil)
	s.ok(err)
	return q.Messages
}

func (s *scene) wantDepth(name string, want int) {
	s.t.Helper()
	testenv.Eventually(s.t, within, name+" holds what it should", func() bool { return s.depth(name) == want })
}

// run is one run of the command.
type run struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	errOut *lines
	code   int
}

// lines is a stderr that tells when a text appeared in it.
type lines struct {
	buf  bytes.Buffer
	text string
	seen chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	n, err := l.buf.Write(p)
	if l.seen != nil && strings.Contains(l.buf.String(), l.text) {
		close(l.seen)
		l.seen = nil
	}
	return n, err
}

// start starts the command as the service account; await is a text on stderr
// for which until is closed.
func (s *scene) start(await string, args ...string) (r *run, until <-chan struct{}) {
	s.t.Helper()
	return s.startAs(s.url, await, args...)
}

func (s *scene) startAs(url, await string, args ...string) (r *run, until <-chan struct{}) {
	s.t.Helper()
	seen := make(chan struct{})
	r = &run{cmd: exec.Command(holdfast, append(args, "--namespace", namespace)...), errOut: &lines{text: await, seen: seen}}
	r.cmd.Env = append(os.Environ(), "HOLDFAST_BROKER="+url, "AMQP_URL=")
	r.cmd.Stdout, r.cmd.Stderr = &r.out, r.errOut
	s.ok(r.cmd.Start())
	// A test that fails must not leave a consumer behind. Of a process that
	// was waited for, Kill does nothing.
	s.t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	return r, seen
}

// wait waits for the end of the command.
func (s *scene) wait(r *run) {
	s.t.Helper()
	err := r.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	r.code = r.cmd.ProcessState.ExitCode()
}

// holdfast runs the command to its end as the service account.
func (s *scene) holdfast(args ...string) *run {
	s.t.Helper()
	r, _ := s.start("\x00", args...)
	s.wait(r)
	return r
}

func (s *scene) want(r *run, code int, contains ...string) {
	s.t.Helper()
	text := r.out.String() + r.errOut.buf.String()
	if r.code != code {
		s.t.Errorf("%v: exit code %d, want %d\n%s", r.cmd.Args[1:], r.code, code, text)
	}
	for _, c := range contains {
		if !strings.Contains(text, c) {
			s.t.Errorf("%v does not say %q:\n%s", r.cmd.Args[1:], c, text)
		}
	}
}

func header(m amqp.Delivery, prefix string) []string {
	var found []string
	for name := range m.Headers {
		if strings.HasPrefix(name, prefix) {
			found = append(found, name)
		}
	}
	return found
}
