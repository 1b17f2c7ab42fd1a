package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	err    error              // once dead is closed
	denied map[*listener]bool // who wants to hear of refused permissions
	closed bool
}

func dial(conf Config) (*conn, error) {
	c := &conn{call: conf.CallTimeout, dead: make(chan struct{}), denied: map[*listener]bool{}}
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
		if c.calls != nil {
			c.calls.end(err)
		}
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
	switch {
	case strings.Contains(text, `Subscription to "`+advisories):
		return // the one session's that asked for it
	case strings.Contains(text, `for Subscription to "`):
		// No answer can ever reach us.
		c.fail(fmt.Errorf("jetstream: %w: %w", broker.ErrPermission, err))
		return
	}
	c.calls.refuse(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.denied {
		if strings.Contains(text, l.quoted) {
			select {
			case l.text <- text:
			default: // it knows already
			}
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
	c.err = classify("the connection was lost", err)
	if err == nil {
		c.err = fmt.Errorf("jetstream: %w: the connection was closed", broker.ErrUnreachable)
	}
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

// listener waits to hear that a subject is refused.
type listener struct {
	quoted string
	text   chan string
}

func (c *conn) listen(subject string) *listener {
	l := &listener{quoted: strconv.Quote(subject), text: make(chan string, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied[l] = true
	return l
}

func (c *conn) unlisten(l *listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.denied, l)
}

const apiPrefix = "$JS.API."

// request runs one call of the client's API, within bounds. subject is what
// the call publishes to, below $JS.API: a refused permission is known by
// nothing else, and the call itself would only run out of time. What it brings
// comes through a channel, since it may go on after request has returned.
func request[T any](ctx context.Context, c *conn, what, subject string, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, c.call)
	defer cancel()
	denied := c.listen(apiPrefix + subject)
	defer c.unlisten(denied)
	type result struct {
		value T
		err   error
	}
	results := make(chan result, 1)
	go func() {
		v, err := do(ctx)
		results <- result{v, err}
	}()
	var none T
	select {
	case r := <-results:
		return r.value, classify(what, c.explain(r.err))
	case text := <-denied.text:
		return none, fmt.Errorf("jetstream: %s: %w: %s; %s", what, broker.ErrPermission, text, permissionsPage)
	case <-c.dead:
		return none, classify(what, c.why())
	}
}

// explain says more of an error than the client knows.
func (c *conn) explain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	if on, _ := c.nc.ConnectedServerJetStream(); errors.Is(err, nats.ErrNoResponders) && !on && c.alive() {
		return fmt.Errorf("JetStream is not enabled on this server: %w: %w", broker.ErrUnsupported, err)
	}
	return err
}

const permissionsPage = "see docs/permissions.md for what is needed"

// api makes one request of the server's own API that the client has no call
// for, and returns the answer.
func (c *conn) api(ctx context.Context, what, subject string, body []byte) (*nats.Msg, error) {
	type result struct {
		answer *nats.Msg
		err    error
	}
	results := make(chan result, 1)
	c.calls.ask(&nats.Msg{Subject: apiPrefix + subject, Data: body}, c.call, func(m *nats.Msg, err error) { results <- result{m, err} })
	select {
	case r := <-results:
		if errors.Is(r.err, broker.ErrPermission) {
			r.err = fmt.Errorf("%w; %s", r.err, permissionsPage)
		}
		return r.answer, classify(what, r.err)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// flush waits until the server has read all that was sent.
func (c *conn) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.call)
	defer cancel()
	return classify("flush", c.nc.FlushWithContext(ctx))
}
