package jetstream

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
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

	// gather is how long a few free places wait for more of them: a request for
	// each message would cost more than the message.
	gather = 2 * time.Millisecond
)

// pulls asks for messages, one request at a time: so what is asked for and
// what is unsettled never exceed the prefetch together, over both consumers.
// The client's own iterators refill by what was read and not by what was
// settled, and cannot share a bound.
type pulls struct {
	session *session
	subs    [flows]*nats.Subscription
	open    sync.WaitGroup // the subscriptions that still bring something
	prefix  string
	held    string // begins the subjects of this source's hold
	number  uint64
	ended   chan pullEnd
	stop    chan struct{}
}

// pull is the request of the client protocol.
type pull struct {
	Batch   int           `json:"batch"`
	Expires time.Duration `json:"expires,omitempty"`
	NoWait  bool          `json:"no_wait,omitempty"`
}

func newPulls(s *session) (*pulls, error) {
	p := &pulls{
		session: s, prefix: s.conn.nc.NewInbox() + ".", held: s.names().wait(s.source.source, waitHold, ""),
		ended: make(chan pullEnd, 16), stop: make(chan struct{}),
	}
	for from := range flows {
		sub, err := s.conn.nc.Subscribe(p.inbox(from, "*"), func(m *nats.Msg) { p.arrived(from, m) })
		if err != nil {
			return nil, err
		}
		if err := sub.SetPendingLimits(-1, -1); err != nil {
			return nil, err
		}
		p.open.Add(1)
		sub.SetClosedHandler(func(string) { p.open.Done() })
		p.subs[from] = sub
	}
	return p, nil
}

// inbox is where the answers to a pull come. A message shows the subject that
// it was published to, and so the two consumers have an inbox each.
func (p *pulls) inbox(from flow, number string) string {
	return p.prefix + [flows]string{"source.", "back."}[from] + number
}

// end asks the server to send no more, and still hears what it sent before it
// knew.
func (p *pulls) end() {
	close(p.stop)
	for _, sub := range p.subs {
		_ = sub.Drain() // an error is the connection's end
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
	if left := first(m.Header, headerMsgSize); len(m.Data) == 0 && left != "" && left != "0" && !p.whole(m) {
		return
	}
	d, err := newDelivery(p.session, m, from)
	if err != nil {
		p.session.notify(broker.NoticeWarning, fmt.Sprintf("jetstream: a delivery cannot be read and is left to the server: %v", err))
		return
	}
	if from == flowBack && d.facts.Capture != nil && !d.facts.Redelivered && strings.HasPrefix(first(m.Header, headerScheduler), p.held) {
		p.session.notify(broker.NoticeReturned, d.facts.Capture.ID)
	}
	p.session.arrive(d)
}

// over passes on that the server has ended a pull.
func (p *pulls) over(e pullEnd) {
	select {
	case p.ended <- e:
	case <-p.stop:
	}
}

// run pulls for as long as the session lives and has room.
func (p *pulls) run() {
	var looked time.Time // for what has come back
	for p.awaitRoom() {
		back := 0
		if time.Since(looked) >= backEvery {
			looked = time.Now()
			n, err := p.pull(flowBack, pull{NoWait: true})
			if err != nil {
				p.session.end(err)
				return
			}
			back = n
		}
		ask := pull{Expires: pullFor}
		if back > 0 { // there may be more, which shall not wait behind a silent source
			looked, ask = time.Time{}, pull{NoWait: true}
		}
		if _, err := p.pull(flowSource, ask); err != nil {
			p.session.end(err)
			return
		}
	}
}

// awaitRoom waits until there is enough to ask for, or a little for a moment,
// and reports whether the session lives.
func (p *pulls) awaitRoom() bool {
	s := p.session
	var moment <-chan time.Time
	for {
		s.mu.Lock()
		wanted, over := s.wanted(), s.err != nil
		enough := s.worthwhile(wanted)
		s.mu.Unlock()
		switch {
		case over || enough:
			return !over
		case wanted > 0 && moment == nil:
			moment = time.After(gather)
		}
		select {
		case <-s.room:
		case <-moment:
			return true
		case <-p.stop:
			return false
		}
	}
}

// pull makes one request, for as much as is wanted now, waits for its end and
// returns how much it brought.
func (p *pulls) pull(from flow, request pull) (n int, err error) {
	request = p.begin(from, request)
	if request.Batch == 0 {
		return 0, nil
	}
	body, err := json.Marshal(request)
	if err == nil {
		p.number++
		err = p.session.conn.nc.PublishRequest(p.subject(from), p.inbox(from, strconv.FormatUint(p.number, 10)), body)
	}
	if err == nil {
		err = p.await(from, request.Expires)
	}
	return request.Batch - p.finish(), classify("ask for messages", err)
}

// begin settles how much a request asks for, and for how long.
func (p *pulls) begin(from flow, request pull) pull {
	s := p.session
	s.mu.Lock()
	defer s.mu.Unlock()
	request.Batch = s.wanted()
	if from == flowSource && s.source.maxBatch > 0 {
		request.Batch = min(request.Batch, s.source.maxBatch)
	}
	if from == flowSource && s.source.maxExpires > 0 {
		request.Expires = min(request.Expires, s.source.maxExpires)
	}
	s.asking = request.Batch
	select {
	case <-s.pulled: // of an earlier one
	default:
	}
	return request
}

func (p *pulls) subject(from flow) string {
	s := p.session
	if from == flowBack {
		return nextSubject(source{s.names().workStream(), s.source.backConsumer()})
	}
	return nextSubject(s.source.source)
}

// finish says that nothing is under way any more, and returns what is missing.
func (p *pulls) finish() (missing int) {
	s := p.session
	s.mu.Lock()
	defer s.mu.Unlock()
	missing = s.asking
	s.asking = 0
	s.wake()
	if s.prefetch == 0 {
		signal(s.unread) // whoever receives is to see that it is paused
	}
	return missing
}

// await waits until the pull has brought all, or the server has ended it.
func (p *pulls) await(from flow, expires time.Duration) error {
	quiet := time.NewTimer(expires + silence)
	defer quiet.Stop()
	for {
		select {
		case <-p.session.pulled:
			return nil
		case e := <-p.ended:
			if e.number == p.number && e.status != statusIdle {
				return p.judge(from, e)
			}
		case <-quiet.C:
			return fmt.Errorf("jetstream: the server does not answer a pull request: %w", broker.ErrUnreachable)
		case <-p.stop:
			return nil
		}
	}
}
