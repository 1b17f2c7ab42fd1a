package jetstream_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// runServer runs a server in this process that a change of its options has
// set up against us.
func runServer(t *testing.T, change func(*server.Options)) *server.Server {
	t.Helper()
	opts := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	change(opts)
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server is not ready")
	}
	return s
}

const password = "hunter2"

// urlOf is where a user of the server connects.
func urlOf(s *server.Server, user string) string {
	return "nats://" + user + ":" + password + "@" + s.Addr().String()
}
