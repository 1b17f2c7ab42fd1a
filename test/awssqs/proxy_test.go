package awssqs

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// downTime is for how long a cut lasts: longer than a lease, since a client
// that has nothing under way sees a shorter one nowhere.
const downTime = 4 * time.Second

// proxy stands between one client and the server.
type proxy struct {
	listener net.Listener
	server   string
	running  sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool
	down   time.Time // until when it takes no connections
	closed bool
}

// newProxy returns a proxy and the URL that leads through it.
func newProxy(t *testing.T, serverURL string) (p *proxy, through string) {
	t.Helper()
	u, err := url.Parse(serverURL)
	if err != nil {
		t.Fatal(err)
	}
	p = &proxy{server: u.Host, conns: map[net.Conn]bool{}}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	u.Host = p.listener.Addr().String()
	return p, u.String()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.forward(client, server)
	}
}

func (p *proxy) forward(client, server net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || time.Now().Before(p.down) {
		client.Close()
		server.Close()
		return
	}
	p.conns[client], p.conns[server] = true, true
	p.running.Go(func() { p.pump(client, server) })
	p.running.Go(func() { p.pump(server, client) })
}

func (p *proxy) pump(to, from net.Conn) {
	_, _ = io.Copy(to, from) // its end, whatever the reason, is the end of both
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range []net.Conn{to, from} {
		c.Close()
		delete(p.conns, c)
	}
}

// cut ends the connections of now and takes none for a while.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = time.Now().Add(downTime)
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cut()
	p.running.Wait()
}
