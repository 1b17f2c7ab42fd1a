package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestOpen_knows_its_schemes(t *testing.T) {
	for _, url := range []string{
		"amqp://u:secret@127.0.0.1:1/", "amqps://127.0.0.1:1", "AMQP://127.0.0.1:1",
		"nats://u:secret@127.0.0.1:1", "nats://127.0.0.1:1,nats://127.0.0.1:2", "tls://127.0.0.1:1",
	} {
		b, err := Open(t.Context(), Config{URL: url})
		if err != nil {
			t.Errorf("%s: %v: opening connects nothing", url, err)
			continue
		}
		if err := b.Close(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{
		"", "kafka://u:secret@h", "u:secret@h", "amqp", ":", "amqp://u:secret@h:notaport/",
		"nats://u:secret@h:notaport", "nats://", "tls://u:secret@", "embeddedx:secret",
	} {
		b, err := Open(t.Context(), Config{URL: url})
		if !errors.Is(err, broker.ErrConfig) || b != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, %v", url, b, err)
		}
	}
}

func TestOpen_passes_on_where_messages_wait(t *testing.T) {
	const rabbit, nats = "amqp://127.0.0.1:1", "nats://127.0.0.1:1"
	for _, tc := range []struct {
		url    string
		cfg    Config
		queue  string
		want   string
		shared bool
	}{
		{rabbit, Config{}, "orders", "orders.parked", false},
		{rabbit, Config{SharedParked: true}, "orders", "holdfast.parked", true},
		{rabbit, Config{Namespace: "billing.holdfast"}, "amq.gen-x", "billing.holdfast.parked", true},
		{nats, Config{}, "ORDERS/billing", "ORDERS/billing.parked", false},
	} {
		tc.cfg.URL = tc.url
		b, err := Open(t.Context(), tc.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got, shared := b.ParkedPlace(tc.queue); got != tc.want || shared != tc.shared {
			t.Errorf("%+v %s: %s, %v", tc.cfg, tc.queue, got, shared)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
