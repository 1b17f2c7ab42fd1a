package jetstream

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestConfigIsCheckedWhole(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Config{Namespace: "a b", Replicas: 6, DialTimeout: -1, CallTimeout: time.Hour})
	if !errors.Is(err, broker.ErrConfig) || !broker.Permanent(err) {
		t.Fatalf("got %v", err)
	}
	for _, field := range []string{"URL", "Namespace", "Replicas", "DialTimeout", "CallTimeout"} {
		if !strings.Contains(err.Error(), "Config."+field+" ") {
			t.Errorf("nothing is said of %s:\n%v", field, err)
		}
	}
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	for ns, ok := range map[string]bool{
		"holdfast": true, "team.billing-v2_x": true, "A.b.C": true, strings.Repeat("n", maxNamespace): true,
		strings.Repeat("n", maxNamespace+1): false, ".a": false, "a.": false, "a..b": false, "a b": false, "a*": false, "a.>": false,
		"a/b": false, "ä": false, "$JS": false, "a\n": false,
	} {
		_, err := Open(t.Context(), Config{URL: "nats://127.0.0.1:1", Namespace: ns})
		if (err == nil) != ok {
			t.Errorf("%q: %v", ns, err)
		}
	}
}

// No text of ours shows the password, whatever is wrong with the URL.
func TestURLErrorsHideThePassword(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"", " ", "nats://", "http://svc:hunter2@there", "nats://svc:hunter2@", "nats://svc:hunt/er2@there", "nats://svc:hunter2%@there",
		"nats://svc:hunter2@there:port", "nats:svc:hunter2@there", "nats://svc:hunter2@the re", "nats://there,svc:hunter2@other",
		"svc:hunter2@there", "nats://svc:hunter2@there,", "nats://svc:hunter2@[::1",
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
	for _, raw := range []string{"nats://svc:hunter2@127.0.0.1:1", "tls://svc:hunter2@127.0.0.1:1,nats://svc:hunter2@127.0.0.1:2", "ws://svc:hunter2@127.0.0.1:1"} {
		b, err := Open(t.Context(), Config{URL: raw})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Open(t.Context(), broker.Subscription{Queue: "ORDERS/billing"})
		if !errors.Is(err, broker.ErrUnreachable) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v", err)
		}
		b.Close()
	}
}

func TestSubscriptionIsChecked(t *testing.T) {
	t.Parallel()
	b, err := Open(t.Context(), Config{URL: "nats://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, sub := range []broker.Subscription{
		{},
		{Queue: "ORDERS"},
		{Queue: "/billing"},
		{Queue: "ORDERS/"},
		{Queue: "ORDERS/a/b"},
		{Queue: "ORDERS.x/billing"},
		{Queue: "ORDERS/bil ling"},
		{Queue: "ORDERS/b*"},
		{Queue: strings.Repeat("S", 200) + "/" + strings.Repeat("c", 55)},
		{Queue: "ORDERS/billing", Rungs: []time.Duration{time.Microsecond}},
	} {
		if _, err := b.Open(t.Context(), sub); !errors.Is(err, broker.ErrConfig) {
			t.Errorf("%.60v: %v", sub, err)
		}
	}
}

func TestClosedBroker(t *testing.T) {
	t.Parallel()
	b, err := Open(t.Context(), Config{URL: "nats://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	if _, err := b.Open(t.Context(), broker.Subscription{Queue: "ORDERS/billing"}); !errors.Is(err, broker.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
