package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
)

func TestOpen_knows_its_schemes(t *testing.T) {
	for _, url := range []string{"amqp://u:secret@127.0.0.1:1/", "amqps://127.0.0.1:1", "AMQP://127.0.0.1:1"} {
		b, err := Open(t.Context(), Config{URL: url})
		if err != nil {
			t.Errorf("%s: %v: opening connects nothing", url, err)
			continue
		}
		if err := b.Close(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{"", "kafka://u:secret@h", "u:secret@h", "amqp", ":", "amqp://u:secret@h:notaport/"} {
		b, err := Open(t.Context(), Config{URL: url})
		if !errors.Is(err, broker.ErrConfig) || b != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, %v", url, b, err)
		}
	}
}

func TestOpen_passes_on_where_messages_wait(t *testing.T) {
	for _, tc := range []struct {
		cfg    Config
		queue  string
		want   string
		shared bool
	}{
		{Config{}, "orders", "orders.parked", false},
		{Config{SharedParked: true}, "orders", "holdfast.parked", true},
		{Config{Namespace: "billing.holdfast"}, "amq.gen-x", "billing.holdfast.parked", true},
	} {
		tc.cfg.URL = "amqp://127.0.0.1:1"
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
