package jetstream_test

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between one client and the server.
type proxy struct {
	listener net.Listener
	server   string
	running  sync.WaitGroup

	swallowing atomic.Bool // what the server says goes nowhere

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
}

// newProxy returns a proxy and the URL that leads through it.
func newProxy(t testing.TB, serverURL string) (p *proxy, through string) {
	t.Helper()
	u, err := url.Parse(serverURL)
	if err != nil {
		t.Fatal("the server's URL cannot be read")
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
	if p.closed {
		client.Close()
		server.Close()
		return
	}
	p.conns[client], p.conns[server] = true, true
	p.running.Go(func() { p.pump(client, server, &p.swallowing) })
	p.running.Go(func() { p.pump(server, client, new(atomic.Bool)) })
}

// pump forwards until one of the two ends, which is the end of both.
func (p *proxy) pump(to, from net.Conn, swallow *atomic.Bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			break
		}
		if swallow.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range []net.Conn{to, from} {
		c.Close()
		delete(p.conns, c)
	}
}

// cut ends the connections of now, whatever is on its way; the client may make
// new ones.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
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
