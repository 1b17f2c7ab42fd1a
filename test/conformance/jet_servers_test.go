package conformance

import (
	"net"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker/jetstream"
	"github.com/holdfast-mq/holdfast/internal/embedded"
	"github.com/holdfast-mq/holdfast/test/faultproxy"
	"github.com/holdfast-mq/holdfast/test/natsserver"
)

// externalServer is a nats-server that is another process.
type externalServer struct{ server *natsserver.Server }

func startExternal(t *testing.T) externalServer {
	t.Helper()
	return externalServer{natsserver.Start(t)}
}

func (e externalServer) through(t *testing.T) (jetstream.Config, func()) {
	t.Helper()
	p, url := faultproxy.Before(t, e.server.URL())
	return jetstream.Config{URL: url}, p.Cut
}

func (e externalServer) connect() (*nats.Conn, error) { return nats.Connect(e.server.URL()) }

func (e externalServer) restart(t *testing.T) {
	t.Helper()
	e.server.Restart(t)
}

// embeddedServer is a server in this process without a listener. It stands
// before the server of the moment, since one that has stopped cannot start
// again.
type embeddedServer struct {
	dir string

	mu  sync.RWMutex
	now *embedded.Server
}

func startEmbedded(t *testing.T) *embeddedServer {
	t.Helper()
	e := &embeddedServer{dir: t.TempDir()}
	e.start(t)
	t.Cleanup(func() {
		if err := e.now.Close(); err != nil {
			t.Errorf("closing the embedded server: %v", err)
		}
	})
	return e
}

func (e *embeddedServer) start(t *testing.T) {
	t.Helper()
	server, err := embedded.Start(e.dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e.now = server
}

func (e *embeddedServer) InProcessConn() (net.Conn, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.now.InProcessConn()
}

func (e *embeddedServer) through(*testing.T) (jetstream.Config, func()) {
	w := &wires{server: e}
	return jetstream.Config{InProcess: w}, w.cut
}

func (e *embeddedServer) connect() (*nats.Conn, error) {
	return nats.Connect("", nats.InProcessServer(e))
}

func (e *embeddedServer) restart(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.now.Close(); err != nil {
		t.Fatalf("closing the embedded server: %v", err)
	}
	e.start(t)
}

// wires are the connections of one client within the process.
type wires struct {
	server nats.InProcessConnProvider

	mu    sync.Mutex
	conns []net.Conn
}

func (w *wires) InProcessConn() (net.Conn, error) {
	conn, err := w.server.InProcessConn()
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, conn)
	return conn, nil
}

// cut ends the connections of now; the client may make new ones.
func (w *wires) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.conns {
		conn.Close()
	}
	w.conns = nil
}
