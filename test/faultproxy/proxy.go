// Package faultproxy stands between one client of a test and a real server, and
// makes the faults of a network on real connections.
package faultproxy

import (
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Proxy forwards every connection to one server. Its methods may be called
// concurrently.
type Proxy struct {
	listener net.Listener
	server   string
	running  sync.WaitGroup

	mu      sync.Mutex
	flow    *sync.Cond
	conns   map[net.Conn]bool
	frozen  bool      // nothing is forwarded
	swallow bool      // what the server says goes nowhere
	refuse  bool      // the next connection
	down    time.Time // until when it takes none
	closed  bool
}

// Start returns a proxy before the server at address. It ends with the test.
func Start(t testing.TB, address string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, server: address, conns: map[net.Conn]bool{}}
	p.flow = sync.NewCond(&p.mu)
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Before returns a proxy before the server that a URL names, and the URL that
// leads through it.
func Before(t testing.TB, serverURL string) (p *Proxy, through string) {
	t.Helper()
	u, err := url.Parse(serverURL)
	if err != nil {
		t.Fatal("the server's URL cannot be read") // it may hold a password
	}
	p = Start(t, u.Host)
	u.Host = p.Addr()
	return p, u.String()
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Cut ends the connections of now, whatever is on its way; the client may make
// new ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

// CutFor is [Proxy.Cut], and takes no connections for a while.
func (p *Proxy) CutFor(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = time.Now().Add(d)
	p.cut()
}

// CutTwice is [Proxy.Cut], and ends the first connection that comes after it,
// too: some clients mend one that is only lost for a moment, and tell nobody.
func (p *Proxy) CutTwice() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = len(p.conns) > 0
	p.cut()
}

func (p *Proxy) cut() {
	for c := range p.conns {
		c.Close()
	}
}

// Freeze stops forwarding without closing anything, a half-open connection, or
// goes on.
func (p *Proxy) Freeze(frozen bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = frozen
	p.flow.Broadcast()
}

// Swallow lets what the server says go nowhere, or arrive again.
func (p *Proxy) Swallow(swallow bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallow = swallow
}

func (p *Proxy) accept() {
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

func (p *Proxy) forward(client, server net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.refuse || time.Now().Before(p.down) {
		p.refuse = false
		client.Close()
		server.Close()
		return
	}
	p.conns[client], p.conns[server] = true, true
	p.running.Go(func() { p.pump(server, client, false) })
	p.running.Go(func() { p.pump(client, server, true) })
}

// pump forwards until one of the two ends, which is the end of both.
func (p *Proxy) pump(to, from net.Conn, answers bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if p.lets(answers) {
			if _, failed := to.Write(buf[:n]); failed != nil {
				break
			}
		}
		if err != nil {
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

// lets waits while the proxy is frozen, and reports whether to forward.
func (p *Proxy) lets(answers bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.frozen && !p.closed {
		p.flow.Wait()
	}
	return !answers || !p.swallow
}

func (p *Proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.flow.Broadcast()
	p.cut()
	p.mu.Unlock()
	p.running.Wait()
}
