package management

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// api is a management API whose answers are given by path; what is not, is an
// empty list.
type api struct {
	answers map[string]string
	codes   map[string]int
	asked   []string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/")
	a.asked = append(a.asked, r.URL.RequestURI())
	if code := max(a.codes[path], a.codes[path+"?page="+r.URL.Query().Get("page")]); code != 0 {
		w.WriteHeader(code)
	}
	answer, ok := a.answers[path+"?page="+r.URL.Query().Get("page")]
	if !ok {
		if answer, ok = a.answers[path]; !ok {
			answer = "[]"
		}
	}
	fmt.Fprint(w, answer)
}

func (a *api) client(t *testing.T, vhost string) *Client {
	t.Helper()
	if a.answers == nil {
		a.answers = map[string]string{}
	}
	if _, ok := a.answers["overview"]; !ok {
		a.answers["overview"] = `{"product_name": "RabbitMQ", "rabbitmq_version": "4.3.6", "rates_mode": "basic"}`
	}
	// One call at a time: the fake keeps a list.
	lock := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock <- struct{}{}
		defer func() { <-lock }()
		a.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c, err := New(Config{URL: strings.Replace(server.URL, "://", "://user:topsecret@", 1), VHost: vhost})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSnapshotReadsEveryPage(t *testing.T) {
	a := &api{answers: map[string]string{
		"queues?page=1": `{"page_count": 2, "other": {"x": [1]}, "items": [{"name": "a", "vhost": "/", "messages": 3, "delivery_limit": "unlimited"}]}`,
		"queues?page=2": `{"items": [{"name": "b", "vhost": "/", "leader": "rabbit@a", "node": "old"}], "page_count": 2}`,
	}}
	s, err := a.client(t, "").Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Queues) != 2 || s.Queues[0].DeliveryLimit != -1 || s.Queues[0].Messages != 3 || s.Queues[1].Node != "rabbit@a" {
		t.Errorf("%+v", s.Queues)
	}
	if want := 1 + len(lists) + 1; s.Calls != want {
		t.Errorf("%d calls, want %d", s.Calls, want)
	}
}

// TestSnapshotOfAListThatShrinks has its last page go while the first is read.
func TestSnapshotOfAListThatShrinks(t *testing.T) {
	a := &api{
		answers: map[string]string{"queues?page=1": `{"page_count": 2, "items": [{"name": "a", "vhost": "/"}]}`},
		codes:   map[string]int{"queues?page=2": http.StatusBadRequest},
	}
	if s, err := a.client(t, "").Snapshot(t.Context()); err != nil || len(s.Queues) != 1 {
		t.Errorf("%v", err)
	}
}

// TestSnapshotStandsOddAnswers has fields of types that other versions have.
func TestSnapshotStandsOddAnswers(t *testing.T) {
	a := &api{answers: map[string]string{
		"nodes":       `[{"name": "n", "running": true, "fd_used": "unknown", "mem_limit": {"absolute": 1}, "partitions": null}]`,
		"queues":      `[{"name": "a", "vhost": "/", "message_stats": [], "arguments": [], "messages": null, "idle_since": "2026-11-30T03:00:00.000+00:00", "effective_policy_definition": []}]`,
		"connections": `[{"name": "c", "client_properties": [], "connected_at": 1764471600000}]`,
		"consumers":   `[{"queue": {"name": "a", "vhost": "/"}, "channel_details": [], "ack_required": true}]`,
	}}
	s, err := a.client(t, "").Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Nodes) != 1 || !s.Nodes[0].Running || len(s.Queues) != 1 || len(s.Connections) != 1 || len(s.Consumers) != 1 {
		t.Errorf("%+v", s)
	}
	if at := s.Queues[0].IdleSince; !at.Equal(time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)) {
		t.Errorf("idle since %v", at)
	}
}

func TestSnapshotOfOneVirtualHost(t *testing.T) {
	a := &api{answers: map[string]string{
		"permissions": `[{"user": "u", "vhost": "a/b"}, {"user": "u", "vhost": "other"}]`,
		"connections": `[{"name": "c", "vhost": "other"}]`,
	}}
	s, err := a.client(t, "a/b").Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Permissions) != 1 || len(s.Connections) != 0 {
		t.Errorf("%+v, %+v", s.Permissions, s.Connections)
	}
	if !strings.Contains(strings.Join(a.asked, " "), "/api/queues/a%2Fb?") {
		t.Errorf("asked %v", a.asked)
	}
}

func TestSnapshotNamesWhatMayNotBeSeen(t *testing.T) {
	a := &api{
		codes:   map[string]int{"policies": http.StatusUnauthorized, "nodes": http.StatusForbidden},
		answers: map[string]string{"policies": `{"error": "not_authorised", "reason": "Not administrator user"}`},
	}
	s, err := a.client(t, "").Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Denied) != 2 || !strings.Contains(s.Denied[0], "nodes") || !strings.Contains(s.Denied[1], "policymaker") {
		t.Errorf("denied: %q", s.Denied)
	}
}

func TestSnapshotErrorsHaveAClassAndNoSecret(t *testing.T) {
	for name, c := range map[string]struct {
		api   *api
		vhost string
		want  error
	}{
		"a wrong password":     {&api{codes: map[string]int{"overview": http.StatusUnauthorized}, answers: map[string]string{"overview": `{"reason": "Login failed"}`}}, "", broker.ErrCredentials},
		"a user without a tag": {&api{codes: map[string]int{"overview": http.StatusUnauthorized}, answers: map[string]string{"overview": `{"reason": "Not management user"}`}}, "", broker.ErrCredentials},
		"a server that fails":  {&api{codes: map[string]int{"queues": http.StatusInternalServerError}}, "", broker.ErrUnreachable},
		"no virtual host":      {&api{codes: map[string]int{"queues/gone": http.StatusNotFound}}, "gone", broker.ErrMissing},
		"another server":       {&api{answers: map[string]string{"overview": "<html>"}}, "", broker.ErrUnreachable},
		"half an answer":       {&api{answers: map[string]string{"bindings": `[{"source": "a"`}}, "", broker.ErrUnreachable},
	} {
		_, err := c.api.client(t, c.vhost).Snapshot(t.Context())
		if !errors.Is(err, c.want) || strings.Contains(fmt.Sprint(err), "topsecret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := New(Config{URL: "http://user:topsecret@127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Snapshot(t.Context()); !errors.Is(err, broker.ErrUnreachable) || strings.Contains(err.Error(), "topsecret") {
		t.Errorf("nobody there: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, url := range []string{"", "amqp://u:topsecret@h", "http://h:15672", "http://u:topsecret@h:port", "://topsecret"} {
		if _, err := New(Config{URL: url}); !errors.Is(err, broker.ErrConfig) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestAnAnswerThatIsCutOffIsNoList(t *testing.T) {
	for _, answer := range []string{`[`, `[{"name":"a"}`, `[{"name":"a"},`, `{"items":[{"name":"a"}`, `{"items":[{"name":"a"}]`, `{"items":[],"page_count":2`} {
		if _, err := page(strings.NewReader(answer), func(object) {}); err == nil {
			t.Errorf("%s is taken as whole", answer)
		}
	}
}
