package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/internal/app"
)

// fake runs commands on a broker in memory.
type fake struct {
	*membroker.Broker
	t   *testing.T
	env Env
}

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func newFake(t *testing.T) *fake {
	t.Helper()
	b := membroker.New()
	t.Cleanup(func() { _ = b.Close() })
	for _, q := range []string{"orders", "orders.parked", "orders.hold", "holdfast.parked", "orders.dlq"} {
		b.DeclareQueue(q)
	}
	f := &fake{Broker: b, t: t}
	f.env = Env{
		Getenv: func(name string) string { return map[string]string{"HOLDFAST_BROKER": "amqp://u:secret@h/"}[name] },
		Open: func(_ context.Context, cfg app.Config) (app.Broker, error) {
			if cfg.SharedParked {
				return sharing{b.Peer()}, nil
			}
			return b.Peer(), nil
		},
		Exit: func(code int) { t.Errorf("Exit(%d)", code) },
		Now:  func() time.Time { return now },
	}
	return f
}

// sharing is a broker whose consumers all park in one queue.
type sharing struct{ *membroker.Broker }

func (sharing) ParkedPlace(string) (name string, shared bool) { return "holdfast.parked", true }

// result is what a command left behind.
type result struct {
	code        int
	out, errOut string
}

func (f *fake) run(args ...string) result { return f.runWith("", args...) }

func (f *fake) runWith(stdin string, args ...string) result {
	f.t.Helper()
	var out, errOut bytes.Buffer
	env := f.env
	env.Args, env.Stdin, env.Stdout, env.Stderr = args, strings.NewReader(stdin), &out, &errOut
	code := Run(f.t.Context(), env)
	r := result{code, out.String(), errOut.String()}
	if strings.Contains(r.out+r.errOut, "secret") {
		f.t.Errorf("%v printed the password:\n%s%s", args, r.out, r.errOut)
	}
	return r
}

func (f *fake) want(r result, code int, contains ...string) {
	f.t.Helper()
	if r.code != code {
		f.t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.out, r.errOut)
	}
	for _, s := range contains {
		if !strings.Contains(r.out+r.errOut, s) {
			f.t.Errorf("does not say %q\nstdout: %s\nstderr: %s", s, r.out, r.errOut)
		}
	}
}

// park stores a parked message; change may be nil.
func (f *fake) park(queue, id string, change func(*broker.Capture, *broker.Message)) {
	f.t.Helper()
	c := &broker.Capture{
		ID: id, Attempt: 5, Reason: broker.ReasonExhausted, Error: "bank down", Host: "web-1",
		Origin:        broker.Origin{Queue: "orders", Exchange: "shop", Key: "orders.created"},
		FirstFailedAt: now.Add(-2 * time.Hour), FailedAt: now.Add(-time.Hour),
	}
	m := &broker.Message{ID: "m-" + id, Body: fmt.Appendf(nil, `{"id":%q}`, id), ContentType: "application/json", Headers: map[string]any{"tenant": "acme"}}
	if change != nil {
		change(c, m)
	}
	c.Each(func(name string, v any) { m.Headers[name] = v })
	if err := f.Publish(context.Background(), broker.Target{Queue: queue}, m); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) fill(n int) {
	for i := range n {
		f.park("orders.parked", fmt.Sprintf("capture-%02d", i+1), nil)
	}
}

func (f *fake) depth(queue string, want int) {
	f.t.Helper()
	if n := len(f.Messages(queue)); n != want {
		f.t.Errorf("%s holds %d, want %d", queue, n, want)
	}
}

func (f *fake) terminal() *fake {
	f.env.StdinTerminal, f.env.StdoutTerminal, f.env.StderrTerminal, f.env.Width = true, true, true, 80
	return f
}

func TestUsage(t *testing.T) {
	f := newFake(t)
	for line, want := range map[string]string{
		"replay":                                     "needs the name of one queue",
		"replay a b":                                 "needs the name of one queue",
		"parked":                                     "AMQP gives nobody a list",
		"show orders":                                "needs a queue and a message's id",
		"nonsense":                                   `no command "nonsense"`,
		"peek orders --wrong":                        "unknown flag",
		"peek orders --output xml":                   "text or json",
		"peek orders --limit -1":                     "number of messages",
		"peek orders --bytes -1":                     "number of bytes",
		"parked orders --reason bored":               "is not one of",
		"parked orders --key a.#":                    "not a wildcard",
		"parked orders --from x --shared":            "none of the others can be",
		"replay orders --to home":                    "queue or origin",
		"replay orders --to origin --to-queue x":     "contradict",
		"replay orders --rate -1":                    "messages a second",
		"replay orders --from orders":                "only turn it over",
		"export orders --remove":                     "--remove needs --file",
		"consume --queue orders":                     "at least one of the flags",
		"consume --queue orders --http ftp://x":      "must begin with http",
		"consume --queue orders --exec x --ladder 9": "not a duration",
		"consume --queue orders --exec x --hold 1ms": "Hold must be",
		"consume --queue orders --exec x --log xml":  "text or json",
		"consume --exec x":                           `"queue" not set`,
	} {
		t.Run(line, func(t *testing.T) {
			f.t = t
			f.want(f.run(strings.Fields(line)...), exitUsage, "holdfast: ", want)
		})
	}
}

func TestNoBroker(t *testing.T) {
	f := newFake(t)
	f.env.Getenv = func(string) string { return "" }
	f.want(f.run("parked", "orders"), exitUsage, "which broker?")
	f.env.Open = app.Open
	f.want(f.run("parked", "orders", "--broker", "kafka://u:secret@h"), exitUsage, `amqp://, amqps://, nats://, tls://, embedded:DIR, sqs:REGION, gcppubsub:PROJECT, rocketmq://, not with "kafka:"`)
	f.want(f.run("parked", "orders", "--broker", "u:secret@h"), exitUsage, "begins with one of")
}

func TestUnreachable(t *testing.T) {
	for name, tc := range map[string]struct {
		class error
		code  int
		want  string
	}{
		"down":        {broker.ErrUnreachable, exitUnreachable, "check that the broker is up"},
		"credentials": {broker.ErrCredentials, exitUnreachable, "refuses the login"},
		"permission":  {broker.ErrPermission, exitUnreachable, "permission"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.env.Open = func(context.Context, app.Config) (app.Broker, error) {
				peer := f.Peer()
				peer.RefuseClients(tc.class)
				return peer, nil
			}
			f.want(f.run("parked", "orders"), tc.code, "holdfast: ", tc.want)
		})
	}
}

func TestParked(t *testing.T) {
	f := newFake(t)
	f.fill(2)
	f.park("orders.parked", "capture-99", func(c *broker.Capture, m *broker.Message) {
		c.Reason, c.Error, c.FailedAt = broker.ReasonVerdict, "line one\nline two \x1b[31mred", now.Add(-26*time.Hour)
	})
	r := f.run("parked", "orders")
	f.want(r, exitOK, "orders.parked: 3 waiting, 0 consumers, oldest failed 2026-11-29T10:00:00Z (26h ago)",
		"exhausted 2, verdict 1", "capture-01", "bank down", "line one", "orders.created")
	if strings.Contains(r.out, "\x1b") || strings.Contains(r.out, "line two") {
		t.Errorf("control characters or further lines of an error in a table:\n%q", r.out)
	}
	f.want(f.run("parked", "orders", "--limit", "1"), exitOK, "looked at the first 1 only")
	f.want(f.run("parked", "orders", "--reason", "verdict"), exitOK, "2 do not match")
	r = f.run("parked", "orders", "--output", "json")
	f.want(r, exitOK, `{"type":"message"`, `"failed_at":"2026-11-30T11:00:00Z"`, `"type":"summary"`, `"reasons":{"exhausted":2,"verdict":1}`)
	if n := strings.Count(r.out, "\n"); n != 4 {
		t.Errorf("%d lines of JSON, want 4", n)
	}
	f.want(f.run("parked", "gone", "orders"), exitUsage, "gone.parked", "see --from", "orders.parked: 3 waiting")
	f.depth("orders.parked", 3)
}

func TestParked_fits_a_terminal(t *testing.T) {
	f := newFake(t).terminal()
	f.park("orders.parked", strings.Repeat("x", 40), func(c *broker.Capture, m *broker.Message) {
		c.Error, c.Origin.Key = strings.Repeat("漢字", 60), strings.Repeat("key.", 40)
	})
	f.env.Getenv = func(name string) string { return map[string]string{"NO_COLOR": "1", "AMQP_URL": "amqp://h"}[name] }
	r := f.run("parked", "orders")
	f.want(r, exitOK)
	_, rows, _ := strings.Cut(r.out, "\n\n")
	for line := range strings.Lines(rows) {
		if w := width(line); w > 80 {
			t.Errorf("%d columns wide: %s", w, line)
		}
	}
	if strings.Contains(r.out, "\x1b") {
		t.Error("colours in spite of NO_COLOR")
	}
}

func TestParked_of_a_shared_queue(t *testing.T) {
	f := newFake(t)
	f.park("holdfast.parked", "mine", nil)
	f.park("holdfast.parked", "theirs", func(c *broker.Capture, _ *broker.Message) { c.Origin.Queue = "bills" })
	r := f.run("parked", "orders", "--shared")
	f.want(r, exitOK, "1 belong to other queues", "mine")
	if strings.Contains(r.out, "theirs") {
		t.Error("another queue's message is listed")
	}
}

func TestPeek(t *testing.T) {
	f := newFake(t)
	f.park("orders.parked", "capture-01", func(_ *broker.Capture, m *broker.Message) {
		m.Body = []byte("one\ttab\n\x1b]0;owned\x07 \u202etxt")
	})
	f.park("orders.parked", "capture-02", func(_ *broker.Capture, m *broker.Message) { m.Body = []byte{0, 1, 2, 0xff} })
	f.park("orders.parked", "capture-03", func(_ *broker.Capture, m *broker.Message) { m.Body = bytes.Repeat([]byte("a"), 3000) })
	f.park("orders.parked", "capture-04", func(_ *broker.Capture, m *broker.Message) { m.Body = nil })
	r := f.run("peek", "orders", "--limit", "4")
	f.want(r, exitOK, "one    tab", `\x1b]0;owned\x07 \u202etxt`, "00 01 02 ff", "the first 1024 here", "(empty)", "4 of 4 shown")
	if strings.ContainsAny(r.out, "\x1b\x07\u202e") {
		t.Error("a payload reached the terminal raw")
	}
	f.want(f.run("peek", "orders", "--limit", "1"), exitOK, "1 of 4 shown")
	f.want(f.run("peek", "orders", "--limit", "1", "--output", "json"), exitOK, `"body":"b25lCXRhY`, `"body_text":"one\ttab`)
	f.want(f.run("peek", "bills", "--from", "orders.hold"), exitOK, "nothing waits in orders.hold")
	f.depth("orders.parked", 4)
}

func TestShow(t *testing.T) {
	f := newFake(t)
	f.park("orders.parked", "capture-01", func(c *broker.Capture, m *broker.Message) {
		m.Body = []byte("raw\x00body")
		m.Headers["x-death"] = []any{map[string]any{"queue": "old", "reason": "rejected", "count": int64(3), "exchange": "e", "time": now}}
		m.ReplyTo, m.CorrelationID, c.Cause = "caller", "c-9", "EOF"
		m.Headers[broker.HeaderReplays], m.Headers[broker.HeaderReplayID] = int64(2), "r-1"
	})
	f.want(f.run("show", "orders", "capture-01"), exitOK,
		"attempt 5, lap 0", "EOF", `rejected from queue "old", 3 times`, "tenant: acme", "reply to", "caller", "c-9", "2 times, last as r-1", `key "orders.created" queue "orders"`)
	for _, ref := range []string{"capture-", "m-capture-01", "#1"} {
		f.want(f.run("show", "orders", ref), exitOK, "capture-01")
	}
	if r := f.run("show", "orders", "#1", "--body"); r.out != "raw\x00body" {
		t.Errorf("body %q", r.out)
	}
	f.want(f.run("show", "orders", "#1", "--output", "json"), exitOK, `"headers":{`, `{"type":"string","value":"acme"}`, `"deaths":[{"queue":"old"`)
	f.want(f.run("show", "orders", "capture-77"), exitIncomplete, "holdfast: no such message")
}

func TestVersion(t *testing.T) {
	f := newFake(t)
	f.want(f.run("version"), exitOK, "holdfast ", "commit ", "go1.")
	f.want(f.run("version", "--output", "json"), exitOK, `"version":`, `"go":"go1.`)
}

// bell rings when a text was written to it.
type bell struct {
	bytes.Buffer
	text string
	ring func()
}

func (b *bell) Write(p []byte) (int, error) {
	n, err := b.Buffer.Write(p)
	if b.ring != nil && strings.Contains(b.String(), b.text) {
		b.ring()
		b.ring = nil
	}
	return n, err
}

func TestQuestion_ends_with_a_signal(t *testing.T) {
	f := newFake(t).terminal()
	f.fill(1)
	signals := make(chan os.Signal, 1)
	stdin, never, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = never.Close() }()
	errOut := &bell{text: "[y/N]", ring: func() { signals <- os.Interrupt }}
	env := f.env
	env.Args, env.Stdin, env.Stdout, env.Stderr, env.Signals = []string{"discard", "orders"}, stdin, &bytes.Buffer{}, errOut, signals
	if code := Run(t.Context(), env); code != exitIncomplete {
		t.Errorf("exit code %d", code)
	}
	f.depth("orders.parked", 1)
}
