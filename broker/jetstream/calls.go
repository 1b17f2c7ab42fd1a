package jetstream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

var (
	// errNoAnswer: the request was sent, and its answer did not come in time.
	errNoAnswer = errors.New("no answer in time")

	// errUnsent: the connection was over before the request could be sent.
	errUnsent = errors.New("not sent")

	// errNobody: no one listens on the subject, and so nothing happened.
	errNobody = errors.New("nobody answers on that subject")
)

// answered is told the answer to a request, or why there is none. It must not
// block: all answers of a connection come one after the other.
type answered func(*nats.Msg, error)

// calls are the requests of a connection that wait for their answers. The
// client's own requests would cost a waiting goroutine each; here an answer is
// a call, so that thousands of copies can be under way.
type calls struct {
	nc     *nats.Conn
	prefix string
	stop   chan struct{}

	mu   sync.Mutex
	next uint64
	open map[string]*call
	over error
}

type call struct {
	subject string
	until   time.Time
	done    answered
}

const sweepEvery = 250 * time.Millisecond

func newCalls(nc *nats.Conn) (*calls, error) {
	c := &calls{nc: nc, prefix: nc.NewInbox() + ".", stop: make(chan struct{}), open: map[string]*call{}}
	sub, err := nc.Subscribe(c.prefix+"*", c.answer)
	if err != nil {
		return nil, err
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	go c.sweep()
	return c, nil
}

// ask sends m and calls done once: with the answer, or an error. It returns
// after the request was handed to the client.
func (c *calls) ask(m *nats.Msg, within time.Duration, done answered) {
	c.mu.Lock()
	if c.over != nil {
		c.mu.Unlock()
		done(nil, fmt.Errorf("%w: %w", errUnsent, c.over))
		return
	}
	c.next++
	token := strconv.FormatUint(c.next, 36)
	c.open[token] = &call{subject: m.Subject, until: time.Now().Add(within), done: done}
	c.mu.Unlock()
	m.Reply = c.prefix + token
	if err := c.nc.PublishMsg(m); err != nil {
		c.finish(token, nil, fmt.Errorf("%w: %w", errUnsent, err))
	}
}

func (c *calls) answer(m *nats.Msg) {
	token := strings.TrimPrefix(m.Subject, c.prefix)
	if len(m.Data) == 0 && m.Header.Get("Status") == statusNobody {
		c.finish(token, nil, errNobody)
		return
	}
	c.finish(token, m, nil)
}

func (c *calls) finish(token string, m *nats.Msg, err error) {
	c.mu.Lock()
	call := c.open[token]
	delete(c.open, token)
	c.mu.Unlock()
	if call != nil {
		call.done(m, err)
	}
}

// fail ends the calls that which is true for.
func (c *calls) fail(err error, which func(*call) bool) {
	var failed []*call
	c.mu.Lock()
	for token, call := range c.open {
		if which(call) {
			failed = append(failed, call)
			delete(c.open, token)
		}
	}
	c.mu.Unlock()
	for _, call := range failed {
		call.done(nil, err)
	}
}

func (c *calls) sweep() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			c.fail(errNoAnswer, func(call *call) bool { return now.After(call.until) })
		case <-c.stop:
			return
		}
	}
}

// end fails all calls, those to come included.
func (c *calls) end(err error) {
	c.mu.Lock()
	first := c.over == nil
	if first {
		c.over = err
	}
	c.mu.Unlock()
	if first {
		close(c.stop)
	}
	c.fail(err, func(*call) bool { return true })
}

// refuse fails the requests to a subject that the server does not let us
// publish to: it answers them with an error of the connection alone.
func (c *calls) refuse(text string) {
	c.fail(fmt.Errorf("%w: %s", broker.ErrPermission, text), func(call *call) bool {
		return strings.Contains(text, `"`+call.subject+`"`)
	})
}
