package rabbitmq_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// proxy stands between a client and the broker.
type proxy struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	flow   *sync.Cond
	frozen bool
	closed bool
	conns  map[net.Conn]chan struct{} // to a client: closed at its end
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
	p := &proxy{listener: l, target: u.Host, conns: map[net.Conn]chan struct{}{}}
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
		if ended := p.keep(in, out); ended != nil {
			p.wg.Go(func() { pump(in, out, p.wait) })
			p.wg.Go(func() {
				pump(out, in, p.wait)
				out.Close()
				p.leave(in)
				in.Close()
				close(ended)
			})
		}
	}
}

func (p *proxy) keep(in, out net.Conn) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		in.Close()
		out.Close()
		return nil
	}
	ended := make(chan struct{})
	p.conns[in], p.conns[out] = ended, nil
	return ended
}

// leave waits until the client has closed its side, and drops what it writes.
func (p *proxy) leave(in net.Conn) {
	in.(*net.TCPConn).CloseWrite()
	in.SetReadDeadline(time.Now().Add(patience))
	_, _ = io.Copy(io.Discard, in)
}

// pump forwards until from ends. When nothing can be written any more it goes
// on reading, so that the other direction is not reset.
func pump(to, from net.Conn, wait func()) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		wait()
		_, _ = to.Write(buf[:n])
		if err != nil {
			to.(*net.TCPConn).CloseWrite()
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

// settle is how long a cut waits for what was written before it.
const settle = 20 * time.Millisecond

// cut ends all connections and returns when the clients have noticed. What
// they had written before still arrives, nothing after: an acknowledgement has
// no answer, so that one written in between would count as sent. New
// connections are taken.
func (p *proxy) cut() {
	p.mu.Lock()
	conns := p.conns
	p.conns = map[net.Conn]chan struct{}{}
	p.mu.Unlock()
	for c, ended := range conns {
		if ended != nil {
			c.SetReadDeadline(time.Now().Add(settle))
			<-ended
		}
	}
}

// kill closes all connections at once, whatever is on its way.
func (p *proxy) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
	p.conns = map[net.Conn]chan struct{}{}
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
