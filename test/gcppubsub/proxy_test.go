package gcppubsub

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy stands between one client and the server, and can cut its connections.
type proxy struct {
	listener net.Listener
	server   string
	running  sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool
	refuse bool // the next connection
	closed bool
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	p := &proxy{server: server, conns: map[net.Conn]bool{}}
	var err error
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

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
	if p.closed || p.refuse {
		p.refuse = false
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

// cut ends the connections of now, and refuses the first that the client makes
// after it: gRPC mends a connection that is only lost for a moment, and nobody
// would notice.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = len(p.conns) > 0
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}
