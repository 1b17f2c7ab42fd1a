package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// pullFor is how long a pull request waits at the server: so long may a
	// pause take, and what has come back may wait behind a source that is
	// silent.
	pullFor = 500 * time.Millisecond

	// backEvery is how often it is asked for what has come back. The server
	// moves scheduled messages in steps of 250 ms.
	backEvery = 250 * time.Millisecond

	// silence is how long past its time the end of a pull may be missing.
	silence = 5 * time.Second

	// breath is the pause after a pull that ended in a way that may repeat.
	breath = 100 * time.Millisecond
)

// The statuses by which a server ends a pull.
const (
	statusIdle       = "100" // it goes on
	statusBadRequest = "400"
	statusNone       = "404" // nothing is there, and it was not to wait
	statusTimeout    = "408"
	statusConflict   = "409" // in words: what happened to the consumer
	statusNobody     = "503" // there is no such consumer, or no JetStream
)

// pulls asks for messages, one request at a time: so what is asked for and
// what is unsettled never exceed the prefetch together, over both consumers.
// The client's own iterators refill by what was read and not by what was
// settled, and cannot share a bound.
type pulls struct {
	session *session
	subs    [flows]*nats.Subscription
	prefix  string
	number  uint64
	ended   chan pullEnd
	stop    chan struct{}
}

// pullEnd is how a pull ended before it had brought all that it asked for; or,
// without a status, that it has brought a message.
type pullEnd struct {
	number uint64 // of the pull that a status is about
	status string
	words  string
}

// pull is the request of the client protocol.
type pull struct {
	Batch   int           `json:"batch"`
	Expires time.Duration `json:"expires,omitempty"`
	NoWait  bool          `json:"no_wait,omitempty"`
}

func newPulls(s *session) (*pulls, error) {
	p := &pulls{session: s, prefix: s.conn.nc.NewInbox() + ".", ended: make(chan pullEnd, 16), stop: make(chan struct{})}
	for from := range flows {
		sub, err := s.conn.nc.Subscribe(p.inbox(from, "*"), func(m *nats.Msg) { p.arrived(from, m) })
		if err != nil {
			return nil, err
		}
		if err := sub.SetPendingLimits(-1, -1); err != nil {
			return nil, err
		}
		p.subs[from] = sub
	}
	return p, nil
}

// inbox is where the answers to a pull come. A message shows the subject that
// it was published to, and so the two consumers have an inbox each.
func (p *pulls) inbox(from flow, number string) string {
	return p.prefix + [flows]string{"source.", "back."}[from] + number
}

func (p *pulls) end() {
	close(p.stop)
	for _, sub := range p.subs {
		_ = sub.Unsubscribe()
	}
}

// arrived is told all that the server sends in answer to pulls.
func (p *pulls) arrived(from flow, m *nats.Msg) {
	if m.Reply == "" { // a message has an ack subject, and its own headers prove nothing
		number, err := strconv.ParseUint(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], 10, 64)
		if err == nil {
			p.over(pullEnd{number, first(m.Header, "Status"), first(m.Header, "Description")})
		}
		return
	}
	d, err := newDelivery(p.session, m, from)
	if err != nil {
		p.session.notify(broker.NoticeWarning, fmt.Sprintf("jetstream: a delivery cannot be read and is left to the server: %v", err))
		return
	}
	if p.session.names().heldBefore(p.session.source.source, first(m.Header, headerScheduler)) && d.facts.Capture != nil && !d.facts.Redelivered {
		p.session.notify(broker.NoticeReturned, d.facts.Capture.ID)
	}
	p.session.arrive(d)
	p.over(pullEnd{})
}

// over passes on that something arrived for a pull, or ended it.
func (p *pulls) over(e pullEnd) {
	select {
	case p.ended <- e:
	case <-p.stop:
	}
}

// run pulls for as long as the session lives and has room.
func (p *pulls) run() {
	s := p.session
	var lastBack time.Time
	for s.await(context.Background(), func() bool { return s.wanted() > 0 }) == nil {
		if time.Since(lastBack) >= backEvery {
			lastBack = time.Now()
			n, err := p.pull(flowBack, pull{NoWait: true})
			if n > 0 {
				lastBack = time.Time{} // there may be more
			}
			if err != nil {
				s.end(err)
				return
			}
		}
		if _, err := p.pull(flowSource, pull{Expires: pullFor}); err != nil {
			s.end(err)
			return
		}
	}
}

// pull makes one request, for as much as is wanted now, and waits for its end.
func (p *pulls) pull(from flow, request pull) (n int, err error) {
	s := p.session
	s.mu.Lock()
	request.Batch = s.wanted()
	if limit := s.source.maxBatch; from == flowSource && limit > 0 {
		request.Batch = min(request.Batch, limit)
	}
	s.asking = request.Batch
	s.mu.Unlock()
	if request.Batch == 0 {
		return 0, nil
	}
	defer p.finish()
	if limit := s.source.maxExpires; from == flowSource && limit > 0 {
		request.Expires = min(request.Expires, limit)
	}
	p.number++
	body, err := json.Marshal(request)
	if err != nil {
		return 0, err
	}
	subject := p.subject(from)
	if err := s.conn.nc.PublishRequest(subject, p.inbox(from, strconv.FormatUint(p.number, 10)), body); err != nil {
		return 0, classify("ask for messages", err)
	}
	return p.await(from, request)
}

func (p *pulls) subject(from flow) string {
	s := p.session
	stream, consumer := s.source.stream, s.source.consumer
	if from == flowBack {
		stream, consumer = s.names().workStream(), s.source.backConsumer()
	}
	return "$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer
}

// finish says that nothing is under way any more.
func (p *pulls) finish() {
	s := p.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = 0
	s.wake()
}

// await waits until the pull has brought all, or the server has ended it.
func (p *pulls) await(from flow, request pull) (n int, err error) {
	quiet := time.NewTimer(request.Expires + silence)
	defer quiet.Stop()
	for n < request.Batch {
		select {
		case e := <-p.ended:
			switch {
			case e.status == "":
				n++
			case e.number != p.number || e.status == statusIdle:
			default:
				return n, p.judge(from, e)
			}
		case <-quiet.C:
			return n, fmt.Errorf("jetstream: the server does not answer a pull request: %w", broker.ErrUnreachable)
		case <-p.stop:
			return n, nil
		}
	}
	return n, nil
}

// judge says whether the session can go on after a pull that ended so.
func (p *pulls) judge(from flow, e pullEnd) error {
	words := strings.ToLower(e.words)
	switch {
	case e.status == statusNone, e.status == statusTimeout:
		return nil
	case e.status == statusBadRequest:
		return fmt.Errorf("jetstream: pull: %w: %s", broker.ErrConfig, e.words)
	case e.status == statusConflict && strings.Contains(words, "deleted"):
		return fmt.Errorf("jetstream: consumer %v was deleted: %w", p.session.source.source, broker.ErrDetached)
	case e.status == statusConflict && (strings.Contains(words, "push based") || strings.Contains(words, "shutdown")):
		return fmt.Errorf("jetstream: consumer %v: %s: %w", p.session.source.source, e.words, broker.ErrDetached)
	case e.status == statusNobody:
		return p.missing(from)
	}
	// A leader that changes, too many requests of others: it passes.
	p.rest()
	return nil
}

// missing finds out why nobody answers a pull.
func (p *pulls) missing(from flow) error {
	ctx, cancel := context.WithTimeout(context.Background(), p.session.conn.call)
	defer cancel()
	err := p.session.Probe(ctx)
	if err == nil && from == flowBack {
		_, err = p.session.conn.backConfigOf(ctx, p.session.names(), p.session.source.source)
	}
	switch {
	case errors.Is(err, broker.ErrMissing), errors.Is(err, broker.ErrDetached):
		return fmt.Errorf("%w: %w", broker.ErrDetached, err)
	case err != nil:
		return err
	}
	p.rest()
	return nil
}

func (p *pulls) rest() {
	select {
	case <-time.After(breath):
	case <-p.stop:
	}
}
