package rabbitmq

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// frameMax is what RabbitMQ itself offers.
	frameMax = 131072

	// readSlack is granted beyond two heartbeats.
	readSlack = 2 * time.Second
)

// link is one connection that is made when it is needed, and made again when
// it is needed after it was lost.
type link struct {
	at   endpoint
	conf Config
	role string // consume or publish, for operators
	ctx  context.Context

	mu     sync.Mutex
	live   *conn
	flight *flight
	wg     sync.WaitGroup
}

// flight is a connect under way. All who wait for it share its outcome.
type flight struct {
	done chan struct{}
	conn *conn
	err  error
}

// get returns the live connection, or makes one try to connect. The try goes
// on when ctx ends, for the others who wait for it.
func (l *link) get(ctx context.Context) (*conn, error) {
	l.mu.Lock()
	if l.live != nil && l.live.lost() == nil {
		defer l.mu.Unlock()
		return l.live, nil
	}
	if l.ctx.Err() != nil {
		defer l.mu.Unlock()
		return nil, broker.ErrClosed
	}
	f := l.flight
	if f == nil {
		f = &flight{done: make(chan struct{})}
		l.flight = f
		l.wg.Go(func() { l.fly(f) })
	}
	l.mu.Unlock()
	select {
	case <-f.done:
		return f.conn, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *link) fly(f *flight) {
	f.conn, f.err = l.dial()
	l.mu.Lock()
	l.live, l.flight = f.conn, nil
	if f.conn != nil && l.ctx.Err() != nil {
		f.conn.drop(broker.ErrClosed) // end may have looked before it was there
	}
	l.mu.Unlock()
	close(f.done)
	if f.conn != nil {
		f.conn.watch()
	}
}

// dial connects and shakes hands within the dial timeout.
func (l *link) dial() (*conn, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.conf.DialTimeout)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.at.address())
	if err != nil {
		return nil, dialError(l.at, err)
	}
	sock := newSocket(raw)
	stop := context.AfterFunc(ctx, func() { sock.Close() })
	defer stop()
	client, err := l.shakeHands(ctx, sock)
	if err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		sock.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, dialError(l.at, err)
	}
	// Two heartbeats missed, and a little for the broker's own delay.
	sock.bound(2*client.Config.Heartbeat + readSlack)
	return &conn{
		Connection: client, sock: sock, at: l.at, server: readServer(client.Properties), timeout: l.conf.CallTimeout,
		dead: make(chan struct{}), listeners: map[*listener]bool{},
	}, nil
}

func (l *link) shakeHands(ctx context.Context, sock *socket) (*amqp.Connection, error) {
	var stream net.Conn = sock
	if l.at.secure {
		conf, err := l.at.tlsConfig(l.conf.TLS)
		if err != nil {
			return nil, err
		}
		secure := tls.Client(sock, conf)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		stream = secure
	}
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(l.conf.Name + " " + l.role)
	return amqp.Open(plain{stream}, amqp.Config{
		SASL:       []amqp.Authentication{login{l.at.user, l.at.password, properties}},
		Vhost:      l.at.vhost,
		FrameSize:  frameMax,
		Heartbeat:  l.conf.Heartbeat,
		Locale:     "en_US",
		Properties: properties,
	})
}

// end closes the connection and waits until nothing of the link runs.
func (l *link) end() {
	l.mu.Lock()
	live := l.live
	l.mu.Unlock()
	if live != nil {
		live.end(l.conf.CallTimeout)
	}
	l.wg.Wait()
}

// retire closes a channel behind everyone's back. On a blocked connection
// that waits, so it is done when the block is over.
func (l *link) retire(c *conn, ch closer) {
	l.wg.Go(func() {
		if c.awaitUnblocked(l.ctx) {
			_ = closeChannel(l.ctx, c, ch) // it fails only with the connection
		}
	})
}
