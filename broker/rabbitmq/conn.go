package rabbitmq

import (
	"context"
	"errors"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// conn is one live connection.
type conn struct {
	*amqp.Connection
	sock    *socket
	at      endpoint
	server  server
	timeout time.Duration // for one request
	dead    chan struct{} // closed when the connection is gone

	mu        sync.Mutex
	err       error // why it is gone, or is about to be
	blocked   bool
	reason    string
	listeners map[*listener]bool
}

// listener is told, from one goroutine, when the broker blocks the connection
// and when it lets it go on.
type listener struct {
	told func(blocked bool, reason string)
}

// watch lives as long as the connection. It always drains what the client
// notifies: a full channel would stop the client's reader.
func (c *conn) watch() {
	closes := c.NotifyClose(make(chan *amqp.Error, 1))
	blocks := c.NotifyBlocked(make(chan amqp.Blocking, 16))
	for {
		select {
		case b, ok := <-blocks:
			if !ok {
				blocks = nil
				continue
			}
			c.setBlocked(b.Active, b.Reason)
		case why := <-closes:
			c.gone(why)
			return
		}
	}
}

func (c *conn) gone(why *amqp.Error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = lostError(c.at, why)
	}
	c.mu.Unlock()
	c.sock.Close()
	close(c.dead)
}

func lostError(at endpoint, why *amqp.Error) error {
	if why == nil {
		return classified(broker.ErrClosed, "the connection to %s was closed", at)
	}
	return classified(broker.ErrUnreachable, "the connection to %s was lost: %s", at, why.Reason)
}

// drop ends the connection at the socket, at once. Closing it politely waits
// for an answer that a blocked or wedged broker does not give.
func (c *conn) drop(why error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = why
	}
	c.mu.Unlock()
	c.sock.Close()
}

// lost is why the connection is gone, or nil while it lives.
func (c *conn) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// explain replaces what the client says of a request by the reason that the
// connection has, if it is the connection that is gone.
func (c *conn) explain(err error) error {
	if err == nil || !c.IsClosed() {
		return err
	}
	if lost := c.lost(); lost != nil {
		return lost
	}
	var why *amqp.Error
	if errors.As(err, &why) {
		return lostError(c.at, why)
	}
	return err
}

// classify gives every end of a session a class: what has none is an error of
// the socket, and the connection is lost.
func (c *conn) classify(err error) error {
	var known *classError
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, broker.ErrClosed),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	if lost := c.lost(); lost != nil {
		return lost
	}
	return classified(broker.ErrUnreachable, "the connection to %s was lost: %s", c.at, plainText(err))
}

func (c *conn) setBlocked(blocked bool, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocked, c.reason = blocked, reason
	c.sock.wait(blocked)
	for l := range c.listeners {
		l.told(blocked, reason)
	}
}

// listen tells l whether the connection is blocked now and whenever that
// changes, until unlisten. l.told must not block and not call back.
func (c *conn) listen(l *listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners[l] = true
	l.told(c.blocked, c.reason)
}

func (c *conn) unlisten(l *listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.listeners, l)
}

// awaitUnblocked returns true when the connection is not blocked, and false
// when it is gone or ctx has ended.
func (c *conn) awaitUnblocked(ctx context.Context) bool {
	free := make(chan struct{}, 1)
	l := &listener{told: func(blocked bool, _ string) {
		if !blocked {
			select {
			case free <- struct{}{}:
			default:
			}
		}
	}}
	c.listen(l)
	defer c.unlisten(l)
	select {
	case <-free:
		return true
	case <-c.dead:
	case <-ctx.Done():
	}
	return false
}

// end closes the connection, politely if the broker answers in time.
func (c *conn) end(within time.Duration) {
	late := time.AfterFunc(within, func() { c.drop(broker.ErrClosed) })
	defer late.Stop()
	if err := c.Close(); err != nil {
		c.drop(broker.ErrClosed)
	}
	<-c.dead
}
