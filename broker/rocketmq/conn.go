package rocketmq

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

var (
	// errTimeout: the request was sent, and not answered in time.
	errTimeout = errors.New("not answered in time")

	// errUnanswered: the request was sent, and the connection ended before the
	// answer.
	errUnanswered = errors.New("sent and not answered")
)

// conn is a connection to one name server or broker. Requests are callbacks,
// not waiting goroutines: a copy under way costs a map entry.
type conn struct {
	addr        string
	key, secret string
	call        time.Duration
	raw         net.Conn
	dead        chan struct{} // closed after why can be read
	reading     sync.WaitGroup

	writing sync.Mutex

	mu      sync.Mutex
	opaque  int32
	waiting map[int32]*request
	err     error
}

type request struct {
	timer *time.Timer
	done  func(*command, error)
	sent  bool
}

func dial(ctx context.Context, conf Config, addr string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, conf.DialTimeout)
	defer cancel()
	raw, err := conf.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("rocketmq: connect to %s: %w: %w", addr, broker.ErrUnreachable, err)
	}
	c := &conn{
		addr: addr, key: conf.key, secret: conf.secret, call: conf.CallTimeout, raw: raw,
		dead: make(chan struct{}), waiting: map[int32]*request{},
	}
	c.reading.Go(c.read)
	return c, nil
}

func (c *conn) alive() bool {
	select {
	case <-c.dead:
		return false
	default:
		return true
	}
}

// why is the reason of the end, once dead is closed.
func (c *conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *conn) close() {
	c.fail(broker.ErrClosed)
	c.reading.Wait()
}

// fail ends the connection, and with it every request that waits.
func (c *conn) fail(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = fmt.Errorf("rocketmq: the connection to %s ended: %w", c.addr, err)
	waiting := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	close(c.dead)
	c.raw.Close()
	for _, r := range waiting {
		r.timer.Stop()
		r.done(nil, c.lost(r))
	}
}

// lost is what a request is told that the end of the connection met.
func (c *conn) lost(r *request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.sent {
		return fmt.Errorf("%w: %w", errUnanswered, c.err)
	}
	return c.err
}

func (c *conn) read() {
	r := bufio.NewReaderSize(c.raw, 64<<10)
	for {
		cmd, err := readCommand(r)
		if err != nil {
			c.fail(fmt.Errorf("%w: %w", broker.ErrUnreachable, err))
			return
		}
		if cmd.flag&flagAnswer != 0 {
			c.answered(cmd)
		} else if cmd.flag&flagOneWay == 0 {
			c.decline(cmd)
		}
	}
}

func (c *conn) answered(cmd *command) {
	r := c.take(cmd.opaque)
	if r == nil {
		return // too late
	}
	if cmd.code != codeSuccess {
		r.done(cmd, &fault{cmd.code, cmd.remark})
		return
	}
	r.done(cmd, nil)
}

// decline answers what a broker asks of us: nothing that it asks is needed here.
func (c *conn) decline(cmd *command) {
	_ = c.write(&command{code: codeUnsupported, flag: flagAnswer, opaque: cmd.opaque}, &request{}) // the reader sees the end
}

func (c *conn) take(opaque int32) *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.waiting[opaque]
	if r != nil {
		r.timer.Stop()
		delete(c.waiting, opaque)
	}
	return r
}

// ask sends a request and calls done once: with the answer, with an answer and
// a *fault, or with why there is none. done must not block.
func (c *conn) ask(cmd command, within time.Duration, done func(*command, error)) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		done(nil, c.err)
		return
	}
	c.opaque++
	cmd.opaque = c.opaque
	r := &request{done: done, timer: time.AfterFunc(within, func() { c.expire(cmd.opaque) })}
	c.waiting[cmd.opaque] = r
	c.mu.Unlock()
	cmd.sign(c.key, c.secret)
	if err := c.write(&cmd, r); err != nil {
		c.fail(fmt.Errorf("%w: %w", broker.ErrUnreachable, err))
	}
}

func (c *conn) expire(opaque int32) {
	if r := c.take(opaque); r != nil {
		r.done(nil, fmt.Errorf("rocketmq: %s: %w: %w", c.addr, broker.ErrUnreachable, errTimeout))
	}
}

// write writes a frame. What is all with the operating system counts as sent.
func (c *conn) write(cmd *command, r *request) error {
	frame, err := cmd.encode()
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.raw.SetWriteDeadline(time.Now().Add(c.call)); err != nil {
		return err
	}
	if _, err := c.raw.Write(frame); err != nil {
		return err
	}
	c.mu.Lock()
	r.sent = true
	c.mu.Unlock()
	return nil
}

// wait is ask for one who waits.
func (c *conn) wait(ctx context.Context, cmd command) (*command, error) {
	type outcome struct {
		answer *command
		err    error
	}
	result := make(chan outcome, 1)
	c.ask(cmd, c.call, func(answer *command, err error) { result <- outcome{answer, err} })
	select {
	case o := <-result:
		return o.answer, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
