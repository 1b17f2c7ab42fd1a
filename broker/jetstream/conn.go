package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// pingEvery and maxPings give up a connection on which nothing is heard
	// for some 20 s.
	pingEvery = 10 * time.Second
	maxPings  = 1
)

// conn is one connection. It is never mended: what was under way on it has an
// outcome when it ends, and the core opens a new session.
type conn struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	calls *calls
	call  time.Duration
	dead  chan struct{}

	mu     sync.Mutex
	err    error                  // once dead is closed
	denied map[chan<- string]bool // who wants to hear of refused permissions
	closed bool
}

func dial(conf Config) (*conn, error) {
	c := &conn{call: conf.CallTimeout, dead: make(chan struct{}), denied: map[chan<- string]bool{}}
	nc, err := nats.Connect(conf.URL, c.options(conf)...)
	if err != nil {
		return nil, classify("connect", err)
	}
	c.nc = nc
	if c.js, err = jetstream.New(nc); err == nil {
		c.calls, err = newCalls(nc)
	}
	if err == nil {
		err = checkVersion(nc.ConnectedServerVersion())
	}
	if err != nil {
		nc.Close()
		return nil, classify("connect", err)
	}
	go func() {
		<-c.dead
		c.calls.end(c.why())
	}()
	return c, nil
}

func (c *conn) options(conf Config) []nats.Option {
	all := append([]nats.Option{}, conf.Options...)
	if conf.InProcess != nil {
		all = append(all, nats.InProcessServer(conf.InProcess))
	}
	return append(all,
		nats.Name(conf.Name), nats.Timeout(conf.DialTimeout), nats.NoReconnect(), nats.RetryOnFailedConnect(false),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(maxPings), nats.FlusherTimeout(conf.CallTimeout),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.heard(err) }),
		nats.ClosedHandler(func(nc *nats.Conn) { c.ended(nc.LastError()) }))
}

// heard is told what the server says outside of any answer. That a permission
// is missing is said in no other way.
func (c *conn) heard(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	text := err.Error()
	if strings.Contains(text, "Subscription") {
		// No answer can ever reach us.
		c.fail(fmt.Errorf("jetstream: %w: %w", broker.ErrPermission, err))
		return
	}
	c.calls.refuse(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	for listener := range c.denied {
		select {
		case listener <- text:
		default:
		}
	}
}

// fail gives up the connection.
func (c *conn) fail(err error) {
	c.ended(err)
	c.nc.Close()
}

func (c *conn) ended(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	switch {
	case err == nil:
		err = fmt.Errorf("jetstream: %w: the connection was closed", broker.ErrUnreachable)
	default:
		err = classify("the connection was lost", err)
	}
	c.err = err
	close(c.dead)
}

// why is the reason of the end.
func (c *conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// close ends the connection in good order.
func (c *conn) close() {
	c.ended(broker.ErrClosed)
	c.nc.Close()
}

func (c *conn) alive() bool {
	select {
	case <-c.dead:
		return false
	default:
		return true
	}
}

// request runs one call of the client's API, within bounds. subject is a part
// of the subject it publishes to: a refused permission is known by nothing
// else, and the call itself would only run out of time.
func (c *conn) request(ctx context.Context, what, subject string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.call)
	defer cancel()
	denied := make(chan string, 1)
	c.listen(denied, true)
	defer c.listen(denied, false)
	result := make(chan error, 1)
	go func() { result <- do(ctx) }()
	for {
		select {
		case err := <-result:
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("%w: %w", errNoAnswer, err)
			}
			return classify(what, err)
		case text := <-denied:
			if strings.Contains(text, subject) {
				return fmt.Errorf("jetstream: %s: %w: %s; see docs/permissions.md for what is needed", what, broker.ErrPermission, text)
			}
		case <-c.dead:
			return classify(what, c.why())
		}
	}
}

func (c *conn) listen(listener chan<- string, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if on {
		c.denied[listener] = true
	} else {
		delete(c.denied, listener)
	}
}

// flush waits until the server has read all that was sent.
func (c *conn) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.call)
	defer cancel()
	return classify("flush", c.nc.FlushWithContext(ctx))
}
