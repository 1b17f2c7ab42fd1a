package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/embedded"
)

func TestEmbedded_starts_on_its_folder_and_lets_go_of_it(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, url := range []string{"embedded:" + dir, "EMBEDDED:" + dir + "?sync=always"} {
		b, err := Open(t.Context(), Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if place, shared := b.ParkedPlace("ORDERS/billing"); place != "ORDERS/billing.parked" || shared {
			t.Errorf("parked in %s, %v", place, shared)
		}
		if _, err := b.Depth(t.Context(), "ORDERS/billing"); !errors.Is(err, broker.ErrMissing) {
			t.Errorf("the server says %v of a queue that nobody made", err)
		}
		if err := errors.Join(b.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestEmbedded_listens_when_asked(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(t.Context(), Config{URL: "embedded:" + dir + "?listen=127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })

	again, err := Open(t.Context(), Config{URL: "embedded:" + dir})
	var in *embedded.InUseError
	if again != nil || !errors.Is(err, broker.ErrUnreachable) || !errors.As(err, &in) || in.PID != os.Getpid() {
		t.Fatalf("a second start: %v, %v", again, err)
	}
	nc, err := nats.Connect(in.URL)
	if err != nil {
		t.Fatalf("the URL of the error does not lead to the server: %v", err)
	}
	nc.Close()
}

func TestEmbedded_refuses_what_it_cannot_do(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for url, want := range map[string]string{
		"embedded:":                                       "embedded:DIR",
		"embedded:?listen=127.0.0.1:0":                    "embedded:DIR",
		"embedded://" + dir:                               "one slash or none",
		"embedded:" + dir + "?listen=0.0.0.0:4222":        "loopback",
		"embedded:" + dir + "?listen=u:secret@127.0.0.1:": "address and a port",
		"embedded:" + dir + "?sync=never":                 "must be always",
		"embedded:" + dir + "?lisen=127.0.0.1:0":          `"lisen"`,
		"embedded:" + dir + "?%zzsecret":                  "cannot be read",
	} {
		b, err := Open(t.Context(), Config{URL: url})
		if b != nil || !errors.Is(err, broker.ErrConfig) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v; want an error with %q", url, b, err, want)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused URL made the folder: %v", err)
	}
}

func TestJetStream_has_no_shared_parked_queue(t *testing.T) {
	dir := t.TempDir()
	for _, url := range []string{"nats://127.0.0.1:1", "embedded:" + dir} {
		b, err := Open(t.Context(), Config{URL: url, SharedParked: true})
		if b != nil || !errors.Is(err, broker.ErrConfig) || !strings.Contains(err.Error(), "one stream already") {
			t.Errorf("%s: %v, %v", url, b, err)
		}
	}
	b, err := Open(t.Context(), Config{URL: "embedded:" + dir})
	if err != nil {
		t.Fatalf("the folder was not given back: %v", err)
	}
	_ = b.Close()
}

func TestEmbedded_passes_on_what_the_driver_refuses(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(t.Context(), Config{URL: "embedded:" + dir, Namespace: "not a namespace"})
	if b != nil || !errors.Is(err, broker.ErrConfig) || !strings.Contains(err.Error(), "Namespace") {
		t.Errorf("%v, %v", b, err)
	}
}
