package rabbitmq

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestURL(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"amqp://svc:secret@rabbit":                      "amqp://svc@rabbit:5672",
		"amqps://svc:secret@rabbit/orders":              "amqps://svc@rabbit:5671/orders",
		"amqp://svc:s%2Fecret@rabbit:1234/%2Fteam":      "amqp://svc@rabbit:1234/%2Fteam",
		"amqp://rabbit/":                                "amqp://guest@rabbit:5672",
		"amqp://svc:secret@[::1]:1/v":                   "amqp://svc@[::1]:1/v",
		"amqps://svc:secret@rabbit?cacertfile=/ca.pem":  "amqps://svc@rabbit:5671",
		"amqp://svc%40home:secret@rabbit.example/a%20b": "amqp://svc%40home@rabbit.example:5672/a%20b",
	} {
		e, err := parseURL(raw)
		if err != nil || e.String() != want {
			t.Errorf("%s: %s (%v), want %s", raw, e, err, want)
		}
	}
}

// No text of ours shows the password, whatever is wrong with the URL.
func TestURLErrorsHideThePassword(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"", "amqp://", "http://svc:hunter2@rabbit", "amqp://svc:hunter2@", "amqp://svc:hunt/er2@rabbit", "amqp://svc:hunter2#@rabbit",
		"amqp://svc:hunter2@rabbit:port", "amqp://svc:hunter2%@rabbit", "amqp://svc:hunter2@rabbit?heartbeat=1", "amqp:svc:hunter2@rabbit",
		"amqp://svc:hunter2@rab bit", "amqp://svc:hunter2@rabbit?%",
	} {
		_, err := Open(t.Context(), Config{URL: raw})
		if !errors.Is(err, broker.ErrConfig) {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if strings.Contains(err.Error(), "hunt") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	b, err := Open(t.Context(), Config{URL: "amqp://svc:hunter2@127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = b.Open(t.Context(), broker.Subscription{Queue: "q"})
	if !errors.Is(err, broker.ErrUnreachable) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	for _, printed := range []string{fmt.Sprint(b), fmt.Sprintf("%v", login{"svc", "hunter2", nil}), b.at.String()} {
		if strings.Contains(printed, "hunter2") {
			t.Errorf("printed: %s", printed)
		}
	}
}

func TestConfigIsCheckedWhole(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Config{
		Namespace: "amq.x", Rungs: 9, Heartbeat: time.Millisecond, DialTimeout: -1, CallTimeout: time.Hour, ConfirmTimeout: -1,
		Name: strings.Repeat("n", 300),
	})
	if !errors.Is(err, broker.ErrConfig) || !broker.Permanent(err) {
		t.Fatalf("got %v", err)
	}
	for _, field := range []string{"URL", "Namespace", "Rungs", "Heartbeat", "DialTimeout", "CallTimeout", "ConfirmTimeout", "Name"} {
		if !strings.Contains(err.Error(), "Config."+field+" must") {
			t.Errorf("nothing is said of %s:\n%v", field, err)
		}
	}
}

func TestSubscriptionIsChecked(t *testing.T) {
	t.Parallel()
	b, err := Open(t.Context(), Config{URL: "amqp://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, sub := range []broker.Subscription{
		{},
		{Queue: strings.Repeat("q", 250)},
		{Queue: "q", Rungs: []time.Duration{time.Microsecond}},
		{Queue: "q", Rungs: []time.Duration{1500 * time.Microsecond}},
		{Queue: "q", Rungs: []time.Duration{60 * 24 * time.Hour}},
	} {
		if _, err := b.Open(t.Context(), sub); !errors.Is(err, broker.ErrConfig) {
			t.Errorf("%.50v: %v", sub, err)
		}
	}
}
