package rabbitmq_test

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy stands between a client and the broker.
type proxy struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	flow   *sync.Cond
	frozen bool
	closed bool
	conns  map[net.Conn]bool
	wg     sync.WaitGroup
}

// newProxy returns a proxy and the URL that leads through it.
func newProxy(t testing.TB, brokerURL string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(brokerURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: u.Host, conns: map[net.Conn]bool{}}
	p.flow = sync.NewCond(&p.mu)
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	u.Host = l.Addr().String()
	return p, u.String()
}

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil {
			in.Close()
			continue
		}
		if p.keep(in, out) {
			p.wg.Go(func() { p.pump(in, out) })
			p.wg.Go(func() { p.pump(out, in) })
		}
	}
}

func (p *proxy) keep(in, out net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		in.Close()
		out.Close()
		return false
	}
	p.conns[in], p.conns[out] = true, true
	return true
}

// pump forwards until from ends, which is the end of both.
func (p *proxy) pump(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.wait()
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}

func (p *proxy) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.frozen && !p.closed {
		p.flow.Wait()
	}
}

// freeze stops forwarding without closing anything: a half-open connection.
func (p *proxy) freeze(frozen bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = frozen
	p.flow.Broadcast()
}

// kill closes all connections at once, whatever is on its way.
func (p *proxy) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
	p.conns = map[net.Conn]bool{}
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.flow.Broadcast()
	p.mu.Unlock()
	p.kill()
	p.wg.Wait()
}
