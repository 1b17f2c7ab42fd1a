package embedded

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

func TestRestart_keeps_streams_messages_and_acknowledgements(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "by", "start")
	s := start(t, dir, Options{})
	js := client(t, s)
	orders(t, js)
	publish(t, js, "one", "two", "three")
	if got := next(t, js); got != "one" {
		t.Fatalf("got %q", got)
	}
	stop(t, s)

	js = client(t, start(t, dir, Options{}))
	if got := next(t, js); got != "two" {
		t.Errorf("after the restart %q came, and not what follows the last acknowledged one", got)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v: the folder is for nobody else", info.Mode(), err)
	}
}

func TestClose_may_be_called_again(t *testing.T) {
	s := start(t, t.TempDir(), Options{})
	again := make(chan error)
	go func() { again <- s.Close() }()
	if err := errors.Join(s.Close(), <-again, s.Close()); err != nil {
		t.Error(err)
	}
	if conn, err := s.InProcessConn(); err == nil {
		_ = conn.Close()
		t.Error("a closed server gives out connections")
	}
}

func TestListen(t *testing.T) {
	t.Run("nowhere unless asked", func(t *testing.T) {
		if url := start(t, t.TempDir(), Options{}).URL(); url != "" {
			t.Errorf("it listens on %s", url)
		}
	})
	for _, listen := range []string{"127.0.0.1:0", "localhost:0"} {
		t.Run(listen, func(t *testing.T) {
			s := start(t, t.TempDir(), Options{Listen: listen})
			if !strings.HasPrefix(s.URL(), "nats://127.0.0.1:") {
				t.Fatalf("the URL is %q", s.URL())
			}
			nc, err := nats.Connect(s.URL())
			if err != nil {
				t.Fatal(err)
			}
			nc.Close()
		})
	}
}

func TestListen_refuses_what_others_could_reach(t *testing.T) {
	for listen, want := range map[string]string{
		"0.0.0.0:4222":        `not "0.0.0.0"`,
		":4222":               `not ""`,
		"192.0.2.1:0":         `not "192.0.2.1"`,
		"example.org:4222":    `not "example.org"`,
		"[::]:0":              `not "::"`,
		"127.0.0.1":           "an address and a port",
		"127.0.0.1:nats":      `not "nats"`,
		"127.0.0.1:65536":     `not "65536"`,
		"u:secret@127.0.0.1:": "an address and a port",
	} {
		dir := filepath.Join(t.TempDir(), "data")
		s, err := Start(dir, Options{Listen: listen})
		if err == nil || s != nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v; want an error with %q", listen, s, err, want)
		}
		if checked := (Options{Listen: listen}).Check(); checked == nil {
			t.Errorf("%s: Check finds nothing", listen)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder was made all the same: %v", listen, err)
		}
	}
}

func TestListen_says_that_a_port_is_taken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	_, err = Start(dir, Options{Listen: taken.Addr().String()})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("got %v", err)
	}
	start(t, dir, Options{}) // nothing is left behind
}

func TestLogger_gets_the_errors_of_a_running_server_and_nothing_else(t *testing.T) {
	var out bytes.Buffer
	s := start(t, t.TempDir(), Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
	if out.Len() > 0 {
		t.Errorf("starting logs %q", &out)
	}
	s.voice.Warnf("a warning")
	s.voice.Errorf("no space on %s", "disk")
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `level=ERROR msg="embedded broker: no space on disk"`) {
		t.Errorf("the log has %q", got)
	}
}

func TestWait_is_bounded_and_the_folder_is_kept_until_reading_ends(t *testing.T) {
	dir := t.TempDir()
	s, err := Start(dir, Options{Wait: time.Nanosecond})
	if err == nil || s != nil || !strings.Contains(err.Error(), "not ready after 1ns") {
		t.Fatalf("%v, %v", s, err)
	}
	testenv.Eventually(t, 10*time.Second, "the folder can be used", func() bool {
		s, err = Start(dir, Options{})
		if err != nil && !errors.Is(err, ErrInUse) {
			t.Fatal(err)
		}
		return err == nil
	})
	stop(t, s)
}

func TestSyncAlways_reaches_the_server(t *testing.T) {
	for _, want := range []bool{false, true} {
		s := start(t, t.TempDir(), Options{SyncAlways: want})
		if got := s.nats.JetStreamConfig().SyncAlways; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func start(t *testing.T, dir string, o Options) *Server {
	t.Helper()
	s, err := Start(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func client(t *testing.T, s *Server) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// orders makes a stream with a consumer.
func orders(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}})
	if err == nil {
		_, err = s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "billing", AckPolicy: jetstream.AckExplicitPolicy})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, js jetstream.JetStream, bodies ...string) {
	t.Helper()
	for _, b := range bodies {
		if _, err := js.Publish(t.Context(), "orders.new", []byte(b)); err != nil {
			t.Fatal(err)
		}
	}
}

// next takes one message and acknowledges it.
func next(t *testing.T, js jetstream.JetStream) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := js.Consumer(ctx, "ORDERS", "billing")
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Next(jetstream.FetchMaxWait(10 * time.Second))
	if err == nil {
		err = m.DoubleAck(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(m.Data())
}
