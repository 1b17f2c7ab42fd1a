package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/store"
)

func TestManagementURL(t *testing.T) {
	for _, tc := range []struct{ given, broker, want string }{
		{"", "amqp://u:p%40@h:5000/shop", "http://u:p%40@h:15672"},
		{"", "amqps://u:p@[::1]", "https://u:p@[::1]:15671"},
		{"", "AMQP://h", "http://guest:guest@h:15672"},
		{"", "nats://u:p@h", ""},
		{"", "", ""},
		{"https://m:q@proxy/rabbit", "amqp://u:p@h", "https://m:q@proxy/rabbit"},
		{"http://m", "amqp://u:p@h", "http://u:p@m"},
		{"http://m", "nats://u:p@h", "http://m"},
	} {
		if got := ManagementURL(tc.given, tc.broker); got != tc.want {
			t.Errorf("%s of %s: %s, want %s", tc.given, tc.broker, got, tc.want)
		}
	}
	for _, given := range []string{"m:secret@h", "ftp://u:secret@h", "http://", "http://u:secret@h:port", "http://u:sec%ret@h"} {
		f, err := Gather(t.Context(), GatherConfig{Management: ManagementURL(given, "amqp://u:p@h")})
		if f != nil || !errors.Is(err, broker.ErrConfig) || strings.Contains(err.Error(), "sec") {
			t.Errorf("%s: %v, %v", given, f, err)
		}
	}
}

func TestSamePassword(t *testing.T) {
	for _, tc := range []struct {
		password, stored string
		want             bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "", false},
		{"a", "a\n", true},
		{"a", "a\r\n", true},
		{"a", " a", false},
		{"a@b", "amqp://u:a%40b@h/v", true},
		{"a", "amqps://u:b@h\n", false},
		{"", "", true},
	} {
		if got := samePassword(tc.password, tc.stored); got != tc.want {
			t.Errorf("%q, %q: %v", tc.password, tc.stored, got)
		}
	}
}

func TestNamespaces_finds_those_of_other_services(t *testing.T) {
	s := &management.Snapshot{}
	for _, name := range []string{"billing.hf", "billing.hf.return", "shop", "holdfast", "holdfast.return"} {
		s.Exchanges = append(s.Exchanges, management.Exchange{VHost: "/", Name: name})
	}
	s.Exchanges = append(s.Exchanges, management.Exchange{VHost: "other", Name: "shop.return"})
	for _, name := range []string{"billing.hf.unrouted", "shop.unrouted", "holdfast.unrouted", "x.unrouted", "orders"} {
		s.Queues = append(s.Queues, management.Queue{VHost: "/", Name: name})
	}
	if got := namespaces(s, "holdfast"); !slices.Equal(got, []string{"holdfast", "billing.hf"}) {
		t.Errorf("%v", got)
	}
}

// surveyed is a broker in memory that can tell how it is.
type surveyed struct {
	*membroker.Broker
	survey broker.Survey
	err    error
}

func (s surveyed) Survey(context.Context, []string) (broker.Survey, error) { return s.survey, s.err }

// door is one that lets nobody in, or everybody.
type door struct {
	*membroker.Broker
	err error
}

func (d door) Login(context.Context) error { return d.err }

func opens(b Broker) func(context.Context, Config) (Broker, error) {
	return func(context.Context, Config) (Broker, error) { return b, nil }
}

func TestGather_goes_on_with_the_sources_that_answer(t *testing.T) {
	b := surveyed{Broker: membroker.New(), survey: broker.Survey{Product: "Mem"}}
	f, err := Gather(t.Context(), GatherConfig{
		Broker: Config{URL: "nats://u:secret@h"}, Open: opens(b), Prometheus: "http://u:secret@127.0.0.1:1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if f.Broker == nil || f.Broker.Product != "Mem" || f.Now.IsZero() || !slices.Equal(f.Names.Namespaces, []string{"holdfast"}) {
		t.Errorf("facts: %+v", f.Broker)
	}
	text := strings.Join(f.Blind, "\n")
	if !slices.Equal(f.Missed, []doctor.Source{doctor.SourcePrometheus}) || !strings.Contains(text, "check --prometheus") || !strings.Contains(text, "name them with --queue") || strings.Contains(text, "secret") {
		t.Errorf("missed %v, blind %s", f.Missed, text)
	}
}

func TestGather_fails_when_nobody_answers(t *testing.T) {
	refused := fmt.Errorf("%w: no", broker.ErrCredentials)
	silent := httptest.NewServer(http.NotFoundHandler())
	silent.Close()
	missing := filepath.Join(t.TempDir(), "none.db")
	for name, tc := range map[string]struct {
		cfg   GatherConfig
		class error
	}{
		"nothing is asked":              {GatherConfig{}, broker.ErrConfig},
		"a manifest that is not there":  {GatherConfig{Manifests: []string{"/does/not/exist"}}, broker.ErrConfig},
		"the management API is away":    {GatherConfig{Management: "http://u:secret@" + silent.Listener.Addr().String()}, broker.ErrUnreachable},
		"the management URL is nothing": {GatherConfig{Management: "x:secret"}, broker.ErrConfig},
		"only the login answers": {GatherConfig{
			Broker: Config{URL: "amqp://u:secret@h"}, Management: "http://u:secret@" + silent.Listener.Addr().String(), Open: opens(door{Broker: membroker.New()}),
		}, broker.ErrUnreachable},
		"a SQLite file that is not there":      {GatherConfig{Store: StoreConfig{URL: "sqlite:" + missing}}, store.ErrUnreachable},
		"an embedded broker that is not there": {GatherConfig{Broker: Config{URL: "embedded:" + missing}}, broker.ErrUnreachable},
		"a manifest that is none":              {GatherConfig{Manifests: []string{os.DevNull}}, broker.ErrConfig},
		"the broker refuses us":                {GatherConfig{Broker: Config{URL: "nats://h"}, Open: opens(surveyed{Broker: membroker.New(), err: refused})}, broker.ErrCredentials},
	} {
		f, err := Gather(t.Context(), tc.cfg)
		if f != nil || !errors.Is(err, tc.class) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the look made something: %v", err)
	}
}

func TestGather_tells_a_login_that_is_refused_as_a_fact(t *testing.T) {
	refused := fmt.Errorf("%w: no", broker.ErrCredentials)
	file := filepath.Join(t.TempDir(), "m.json")
	if err := os.WriteFile(file, []byte(`{"version":1,"service":"billing","declares":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := GatherConfig{
		Broker: Config{URL: "amqp://bill:secret@h/shop", SharedParked: true, Namespace: "b.hf"}, Open: opens(door{membroker.New(), refused}), Manifests: []string{file},
		Service: ServiceConfig{Queues: []string{"orders"}, Stored: func() (string, error) { return "other", nil }},
	}
	f, err := Gather(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Service
	if !errors.Is(s.Login, broker.ErrCredentials) || !s.Stored || !s.StoredDiffers || s.User != "bill" || s.VHost != "shop" || s.Namespace != "b.hf" || !s.SharedParked || s.Queues[0] != "orders" {
		t.Errorf("%+v", s)
	}
	cfg.Service.Stored = func() (string, error) { return "", errors.New("no such file") }
	if f, err = Gather(t.Context(), cfg); err != nil || f.Service.Stored || !strings.Contains(strings.Join(f.Blind, ""), "no such file") {
		t.Errorf("a second place that cannot be read: %v, %+v", err, f)
	}
}

func TestGather_ends_with_its_context(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f, err := Gather(ctx, GatherConfig{Broker: Config{URL: "nats://h"}, Open: opens(surveyed{Broker: membroker.New()})}); f != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", f, err)
	}
}
