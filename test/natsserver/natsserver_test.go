package natsserver_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/test/natsserver"
)

// TestServer proves what other tests rely on: what was confirmed is there
// after a kill and after a restart, at the same address.
func TestServer(t *testing.T) {
	s := natsserver.Start(t)
	url := s.URL()
	stream := jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}
	if _, err := connect(t, url).CreateStream(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	for n, stop := range []func(testing.TB){s.Kill, func(testing.TB) {}} {
		if _, err := connect(t, url).Publish(t.Context(), "s.a", []byte("a")); err != nil {
			t.Fatal(err)
		}
		stop(t)
		s.Restart(t)
		if s.URL() != url {
			t.Errorf("it was at %s and is at %s", url, s.URL())
		}
		if got := stored(t, connect(t, url)); got != uint64(n+1) {
			t.Errorf("%d messages are stored, not %d", got, n+1)
		}
	}
}

func connect(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func stored(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	s, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}
