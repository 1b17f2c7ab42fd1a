package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

func (s *scene) eventually(ok func() bool) {
	s.t.Helper()
	testenv.Eventually(s.t, within, "what the test waits for", ok)
}

// endpoint is a service behind HTTP: the status that it answers is in the
// body of the message.
type endpoint struct {
	mu   sync.Mutex
	seen map[string][]http.Header // by message id
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	e.seen[r.Header.Get("Holdfast-Message-Id")] = append(e.seen[r.Header.Get("Holdfast-Message-Id")], r.Header)
	e.mu.Unlock()
	var order struct {
		Status  int
		Verdict string
		Retry   string
	}
	if err := json.Unmarshal(body, &order); err != nil {
		order.Status = http.StatusTeapot
	}
	if order.Verdict != "" {
		w.Header().Set("Holdfast-Verdict", order.Verdict)
	}
	if order.Retry != "" {
		w.Header().Set("Retry-After", order.Retry)
	}
	w.WriteHeader(order.Status)
	_, _ = fmt.Fprintf(w, "answered %d", order.Status)
}

func TestSidecar_http(t *testing.T) {
	onEach(t, func(s *scene) {
		e := &endpoint{seen: map[string][]http.Header{}}
		server := httptest.NewServer(e)
		defer server.Close()
		s.declareSource(nil)
		s.publish("shop", "orders.created",
			order("done", `{"status":204}`),
			order("park", `{"status":422}`),
			order("hold", `{"status":503}`),
			order("retry", `{"status":500}`),
			order("after", `{"status":429,"retry":"1"}`),
			order("override", `{"status":200,"verdict":"park"}`),
			order("drop", `{"status":200,"verdict":"discard"}`))
		r := s.holdfast("consume", "--queue", queue, "--http", server.URL, "--ladder", "100ms,1s", "--hold", "1h", "--until-idle", "3s")
		s.want(r, 0, "received 11: done 1, delayed 4, held 1, parked 4, discarded 1, released 0, in flight 0")

		r = s.holdfast("parked", queue)
		s.want(r, 0, "exhausted 2, verdict 2", "HTTP 422 Unprocessable Entity: answered 422", "HTTP 500 Internal Server Error: answered 500")
		e.mu.Lock()
		defer e.mu.Unlock()
		second := e.seen["retry"][1]
		for name, want := range map[string]string{
			"Holdfast-Attempt": "2", "Holdfast-Key": "orders.created", "Holdfast-Exchange": "shop",
			"Holdfast-Queue": queue, "Holdfast-Header-Tenant": "acme", "Content-Type": "application/json",
		} {
			if got := second.Get(name); got != want {
				s.t.Errorf("the second attempt has %s %q, want %q", name, got, want)
			}
		}
		if n := len(e.seen["after"]); n != 3 {
			s.t.Errorf("Retry-After: %d calls, want 3", n)
		}
	})
}

func TestSidecar_stops_gracefully(t *testing.T) {
	onEach(t, func(s *scene) {
		s.declareSource(nil)
		s.publish("shop", "orders.created", order("o-1", "1"), order("o-2", "2"))
		running := make(chan struct{})
		release := make(chan struct{})
		var once sync.Once
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			once.Do(func() { close(running) })
			<-release
		}))
		defer server.Close()
		r, stopping := s.start("holdfast: stopping", "consume", "--queue", queue, "--http", server.URL)
		<-running
		s.ok(r.cmd.Process.Signal(syscall.SIGTERM))
		<-stopping
		close(release)
		s.wait(r)
		s.want(r, 0, "done 1", "in flight 0")
		s.wantDepth(queue, 1)
	})
}

func TestSidecar_answers_and_the_operator_answers_later(t *testing.T) {
	onEach(t, func(s *scene) {
		s.declareSource(nil)
		replies, err := s.ch.QueueDeclare("", false, true, true, false, nil)
		s.ok(err)
		request := func(id string) amqp.Publishing {
			m := order(id, "6*7")
			m.ReplyTo, m.CorrelationId = replies.Name, "c-"+id
			return m
		}
		s.publish("shop", "orders.asked", request("r-1"), request("bad"))
		// Replies go through the default exchange, which a service account may
		// not use unless it is granted.
		r, _ := s.startAs(s.admin, "\x00", "consume", "--queue", queue, "--request", "--ladder", "100ms", "--until-idle", "2s",
			"--exec", `[ "$HOLDFAST_MESSAGE_ID" != bad ] || exit 1; printf 42`)
		s.wait(r)
		s.want(r, 0, "done 1, delayed 1, held 0, parked 1")
		s.reply(replies.Name, "c-r-1", "42")

		s.want(s.holdfast("answer", queue, "bad", "--body", "sorry"), 3, "amq.default")
		s.wantDepth(parked, 1)
		r, _ = s.startAs(s.admin, "\x00", "answer", queue, "bad", "--body", "sorry")
		s.wait(r)
		s.want(r, 0, "answered ")
		s.reply(replies.Name, "c-bad", "sorry")
		s.wantDepth(parked, 0)

		gone := parkedOrder("late")
		gone.ReplyTo, gone.CorrelationId = "amq.gen-nobody", "c-late"
		s.publish("", parked, gone)
		r, _ = s.startAs(s.admin, "\x00", "answer", queue, "late", "--body", "sorry")
		s.wait(r)
		s.want(r, 1, "the caller is gone")
		s.wantDepth(parked, 1)
	})
}

func (s *scene) reply(queue, correlation, body string) {
	s.t.Helper()
	s.eventually(func() bool {
		m, ok, err := s.ch.Get(queue, true)
		s.ok(err)
		if ok && (m.CorrelationId != correlation || string(m.Body) != body) {
			s.t.Errorf("reply %q to %q, want %q to %q", m.Body, m.CorrelationId, body, correlation)
		}
		return ok
	})
}

func TestBinary_knows_its_version(t *testing.T) {
	out, err := exec.Command(holdfast, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "holdfast ") {
		t.Errorf("%q, %v", out, err)
	}
}
