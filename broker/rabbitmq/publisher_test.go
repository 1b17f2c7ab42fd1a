package rabbitmq

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
)

// fakeConfirmation is an answer that the test gives.
type fakeConfirmation struct {
	done chan struct{}
	ack  bool
}

func (c *fakeConfirmation) Done() <-chan struct{} { return c.done }
func (c *fakeConfirmation) Acked() bool           { return c.ack }

// fakeLine is a broker's side of a publishing channel. It answers when it is
// told to.
type fakeLine struct {
	mu      sync.Mutex
	sent    []*fakeConfirmation
	seqs    []int64
	beside  []int // how many waited when each was sent
	closed  bool
	failing error
	wire    io.Writer     // where publishes are written to; nil is nowhere
	grown   chan struct{} // one for each publish
}

func (l *fakeLine) IsClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *fakeLine) Close() error { return nil }

// unanswered is how many wait. It is called with mu held.
func (l *fakeLine) unanswered() (n int) {
	for _, c := range l.sent {
		select {
		case <-c.done:
		default:
			n++
		}
	}
	return n
}

func (l *fakeLine) publish(_, _ string, m amqp.Publishing) (confirmation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failing != nil {
		return nil, l.failing
	}
	if l.wire != nil {
		if _, err := io.WriteString(l.wire, m.MessageId); err != nil {
			return nil, err
		}
	}
	c := &fakeConfirmation{done: make(chan struct{})}
	l.beside = append(l.beside, l.unanswered())
	l.sent, l.seqs = append(l.sent, c), append(l.seqs, m.Headers[headerSeq].(int64))
	l.grown <- struct{}{}
	return c, nil
}

// scripted is a publisher on a fake line.
type scripted struct {
	*publisher
	t       *testing.T
	line    *fakeLine
	returns chan amqp.Return
	closes  chan *amqp.Error
	failed  chan error

	mu    sync.Mutex
	order []int // in which the jobs were told
	told  map[int]error
	all   chan struct{} // one for each outcome
}

func startPublishing(t *testing.T) *scripted {
	t.Helper()
	return startPublishingFor(t, copying{})
}

func startPublishingFor(t *testing.T, e ending) *scripted {
	t.Helper()
	c := &conn{sock: &socket{}, timeout: time.Minute, dead: make(chan struct{}), listeners: map[*listener]bool{}}
	p := &scripted{
		t: t, line: &fakeLine{grown: make(chan struct{}, window)}, returns: make(chan amqp.Return, window+1),
		closes: make(chan *amqp.Error, 1), failed: make(chan error, 2), told: map[int]error{}, all: make(chan struct{}, 2*window),
	}
	l := &link{conf: Config{ConfirmTimeout: time.Minute, CallTimeout: time.Minute}, ctx: t.Context()}
	p.publisher = newPublisher(t.Context(), l, e, func(broker.Notice) {}, func(err error) { p.failed <- err })
	p.out = &publishChannel{conn: c, line: p.line, returns: p.returns, closes: p.closes}
	go p.run()
	t.Cleanup(func() {
		p.stop()
		l.wg.Wait()
	})
	return p
}

// send publishes n jobs and returns when the broker has them.
func (p *scripted) send(n int) {
	for i := range n {
		p.publish(&job{exchange: "e", key: "k", msg: amqp.Publishing{Headers: amqp.Table{}}, done: func(err error) {
			p.mu.Lock()
			p.order, p.told[i] = append(p.order, i), err
			p.mu.Unlock()
			p.all <- struct{}{}
		}})
	}
	for range n {
		await(p.t, p.line.grown)
	}
}

func await[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("it does not come")
	}
	return v
}

func (p *scripted) answer(i int, ack bool) {
	p.line.sent[i].ack = ack
	close(p.line.sent[i].done)
}

func (p *scripted) giveBack(i int) {
	p.returns <- amqp.Return{ReplyText: "NO_ROUTE", Headers: amqp.Table{headerSeq: p.line.seqs[i]}}
}

// cut closes the channel as the client does: first it is closed, then all
// confirms are given up.
func (p *scripted) cut(said *amqp.Error) {
	p.line.mu.Lock()
	p.line.closed = true
	p.line.mu.Unlock()
	if said != nil {
		p.closes <- said
	}
	close(p.closes)
	for _, c := range p.line.sent {
		select {
		case <-c.done:
		default:
			close(c.done)
		}
	}
}

// want waits for all outcomes and compares them; nil is stored.
func (p *scripted) want(classes ...error) {
	p.t.Helper()
	for range classes {
		await(p.t, p.all)
	}
	for i, class := range classes {
		if !errors.Is(p.told[i], class) {
			p.t.Errorf("job %d: %v, want %v", i, p.told[i], class)
		}
	}
}

// A return comes with an ack, and is the only thing that tells it from a copy
// that is stored. Foreign and late returns charge nobody.
func TestPublisherJudges(t *testing.T) {
	t.Parallel()
	p := startPublishing(t)
	p.send(5)
	p.returns <- amqp.Return{Headers: amqp.Table{headerSeq: "not ours"}}
	p.giveBack(1)
	p.giveBack(3)
	for i, ack := range []bool{true, true, false, true, true} {
		p.answer(i, ack)
	}
	p.want(nil, broker.ErrUnrouted, broker.ErrRefused, broker.ErrUnrouted, nil)
	if len(p.failed) > 0 {
		t.Errorf("the publisher failed: %v", <-p.failed)
	}
}

// Confirms may come in any order; each is judged after those before it, and
// charged to its own job.
func TestPublisherJudgesInOrder(t *testing.T) {
	t.Parallel()
	p := startPublishing(t)
	p.send(4)
	for _, i := range []int{3, 2, 1} {
		if i == 2 {
			p.giveBack(i)
		}
		p.answer(i, i != 1)
	}
	if len(p.all) > 0 {
		t.Error("judged before the oldest was confirmed")
	}
	p.answer(0, true)
	p.want(nil, broker.ErrRefused, broker.ErrUnrouted, nil)
	if !slices.Equal(p.order, []int{0, 1, 2, 3}) {
		t.Errorf("judged in the order %v", p.order)
	}
}

// What a closed channel leaves open is unknown: the copy may be stored. The
// owner hears the reason before anybody hears a consequence.
func TestPublisherWhoseChannelIsClosed(t *testing.T) {
	t.Parallel()
	p := startPublishing(t)
	p.send(3)
	p.answer(0, true)
	await(t, p.all)
	p.cut(&amqp.Error{Code: amqp.NotFound, Reason: "no exchange", Server: true})
	await(t, p.all)
	await(t, p.all)
	for i, class := range []error{nil, broker.ErrUnknown, broker.ErrUnknown} {
		if !errors.Is(p.told[i], class) {
			t.Errorf("job %d: %v, want %v", i, p.told[i], class)
		}
	}
	if why := await(t, p.failed); !errors.Is(why, broker.ErrUnknown) {
		t.Errorf("it failed with %v", why)
	}
	outcome := make(chan error, 1)
	p.publish(&job{msg: amqp.Publishing{Headers: amqp.Table{}}, done: func(err error) { outcome <- err }})
	if err := await(t, outcome); !errors.Is(err, broker.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// A publish that the client refuses because the channel was closed before was
// not sent; any other failure may have left a part of it on the way.
func TestPublisherThatCannotWrite(t *testing.T) {
	t.Parallel()
	for want, failing := range map[error]error{broker.ErrClosed: amqp.ErrClosed, broker.ErrUnknown: net.ErrClosed} {
		p := startPublishing(t)
		p.line.failing = failing
		outcome := make(chan error, 1)
		p.publish(&job{msg: amqp.Publishing{Headers: amqp.Table{}}, done: func(err error) { outcome <- err }})
		if err := await(t, outcome); !errors.Is(err, want) {
			t.Errorf("%v: the outcome is %v", failing, err)
		}
		if why := await(t, p.failed); why == nil {
			t.Error("it failed for no reason")
		}
	}
}

// What is published is written at the end of a burst. What is not written then
// is as a publish that failed, and the connection is of no use any more.
func TestPublisherThatCannotFlush(t *testing.T) {
	t.Parallel()
	p := startPublishing(t)
	ours, theirs := net.Pipe()
	theirs.Close()
	sock := newSocket(ours)
	p.out.conn.sock, p.line.wire = sock, sock
	outcome := make(chan error, 1)
	p.publish(&job{msg: amqp.Publishing{Headers: amqp.Table{}, MessageId: "1"}, done: func(err error) { outcome <- err }})
	if err := await(t, p.failed); !errors.Is(err, broker.ErrUnreachable) {
		t.Errorf("it failed with %v", err)
	}
	if err := await(t, outcome); !errors.Is(err, broker.ErrUnknown) {
		t.Errorf("the outcome is %v", err)
	}
}

// Stopped, it tells what was sent from what was not.
func TestPublisherThatIsStopped(t *testing.T) {
	t.Parallel()
	p := startPublishing(t)
	p.send(1)
	p.watch.pause(true) // blocked: the next is not sent
	outcome := make(chan error, 1)
	p.publish(&job{msg: amqp.Publishing{Headers: amqp.Table{}}, done: func(err error) { outcome <- err }})
	p.stop()
	p.want(broker.ErrUnknown)
	if err := await(t, outcome); !errors.Is(err, broker.ErrClosed) {
		t.Errorf("what was not sent: %v", err)
	}
}

// A copy that is stored beside an original that stays is a duplicate in the
// making, and must not be told as a session that merely ended.
func TestStoredCopyOfAnOriginalThatStays(t *testing.T) {
	t.Parallel()
	ch := newFakeChannel()
	ch.broken = true
	a := startAcker(t, ch, func(error) {})
	d := &delivery{session: &session{}, tag: 1}
	d.state.Store(stateSettling)
	d.session.settling.add()
	outcome := make(chan error, 1)
	a.settle(mark{tag: 1, told: stored{d}, done: func(err error) { outcome <- err }})
	if err := await(t, outcome); !errors.Is(err, broker.ErrUnknown) || errors.Is(err, broker.ErrClosed) {
		t.Errorf("the outcome is %v", err)
	}
	a.stop()
	if d.state.Load() != stateOpen {
		t.Error("the delivery counts as settled")
	}
}

// pipeChannel writes acknowledgements to a socket that nobody reads.
type pipeChannel struct {
	*fakeChannel
	sock net.Conn
}

func (c pipeChannel) Ack(uint64, bool) error {
	_, err := c.sock.Write([]byte("ack"))
	return err
}

// An acknowledgement that hangs ends the connection, and so the session.
func TestAckIsBounded(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := &conn{sock: newSocket(ours)}
	failed := make(chan error, 1)
	a := newAcker(pipeChannel{newFakeChannel(), c.sock}, boundAck(c, 10*time.Millisecond), func(err error) { failed <- err })
	go a.run()
	outcome := make(chan error, 1)
	a.settle(mark{tag: 1, told: passing{}, done: func(err error) { outcome <- err }})
	if err := await(t, outcome); !errors.Is(err, broker.ErrClosed) {
		t.Errorf("the outcome is %v", err)
	}
	if err := c.lost(); !errors.Is(err, broker.ErrUnreachable) {
		t.Errorf("the connection was lost for %v", err)
	}
	if why := await(t, failed); !errors.Is(why, broker.ErrClosed) {
		t.Errorf("the session was told %v", why)
	}
	a.stop()
}
