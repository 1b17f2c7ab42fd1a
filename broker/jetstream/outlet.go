package jetstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

var _ broker.Outlets = (*Broker)(nil)

// OpenOutlet implements [broker.Outlets]. The destination is a stream, and the
// keys are subjects of it; there is no default one. m.ID is the message's id as
// a producer gives it, by which the stream drops duplicates.
//
// A stream with interest retention confirms what no consumer wants and drops
// it, which is why none is opened to one ([broker.ErrUnsupported]): publish
// there with [Broker.Publish], which asks for each message.
//
// That this user may write is proven for subjects without wildcards. Where the
// stream has wildcards, a right may be for some of what they match: what it is
// not for is found out by its first message, which ends the outlet.
//
// NATS has no state in which publishes wait, so that notify is told nothing.
func (b *Broker) OpenOutlet(ctx context.Context, destination string, _ func(broker.Notice)) (broker.Outlet, error) {
	if !validName(destination) {
		return nil, fmt.Errorf("jetstream: there is no stream %.100q: name the stream that the messages are for: %w", destination, broker.ErrMissing)
	}
	c, err := b.connection(ctx)
	if err != nil {
		return nil, err
	}
	stream, err := c.stream(ctx, destination)
	if err != nil {
		return nil, err
	}
	cfg := stream.CachedInfo().Config
	if cfg.Retention == jetstream.InterestPolicy {
		return nil, unsupported("an outlet to stream %s, which keeps only what a consumer wants", destination)
	}
	if err := c.mayWrite(ctx, cfg.Subjects); err != nil {
		return nil, err
	}
	o := &outlet{conn: c, stream: destination, over: make(chan struct{}), open: map[*parcel]bool{}}
	go o.watch()
	return o, nil
}

// mayWrite publishes to each subject what its stream refuses.
func (c *conn) mayWrite(ctx context.Context, subjects []string) error {
	var plain []string
	for _, subject := range subjects {
		if !strings.ContainsAny(subject, "*>") {
			plain = append(plain, subject)
		}
	}
	answers := make(chan error, len(plain))
	for _, subject := range plain {
		c.calls.ask(elsewhere(subject), c.call, func(_ *nats.Msg, err error) { answers <- err })
	}
	refused := 0
	var last error
	for range plain {
		select {
		case err := <-answers:
			if errors.Is(err, broker.ErrPermission) {
				refused, last = refused+1, err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if refused > 0 && refused == len(subjects) {
		return fmt.Errorf("jetstream: publishing: %w; %s", last, permissionsPage)
	}
	return nil
}

// outlet publishes to one stream. It ends with its connection.
type outlet struct {
	conn   *conn
	stream string
	over   chan struct{}

	mu       sync.Mutex
	open     map[*parcel]bool // without an outcome
	underWay int              // whose done has not returned
	closing  bool
	reason   error         // why it is about to end, or has ended
	idle     chan struct{} // closed when nothing is under way; made by Close
	strays   []*parcel     // that our stream did not take
	asking   bool          // somebody finds out about the strays
}

// parcel is a message on its way.
type parcel struct {
	subject string
	done    func(error)
}

func (o *outlet) watch() {
	select {
	case <-o.conn.dead:
		o.end(o.conn.why())
	case <-o.over:
	}
}

// Publish implements [broker.Outlet].
func (o *outlet) Publish(key string, m *broker.Message, done func(error)) {
	letter, err := o.letter(key, m)
	if err != nil {
		done(err)
		return
	}
	p := &parcel{subject: key, done: done}
	if !o.begin(p) {
		done(fmt.Errorf("jetstream: publish to %s: %w", o.stream, broker.ErrClosed))
		return
	}
	if !o.conn.alive() {
		o.finish(p, fmt.Errorf("jetstream: publish to %s: %w", o.stream, broker.ErrClosed))
		return
	}
	o.conn.calls.ask(letter, o.conn.call, func(answer *nats.Msg, err error) { o.answered(p, answer, err) })
}

// letter is m for a subject, if NATS can carry it.
func (o *outlet) letter(key string, m *broker.Message) (letter, error) {
	if key == "" || strings.ContainsAny(key, " \t\r\n\f*>") {
		return nil, fmt.Errorf("%w: jetstream: %.100q is no subject to publish to", broker.ErrConfig, key)
	}
	out := &nats.Msg{Subject: key, Header: headersOf(m), Data: m.Body}
	out.Header[headerExpectStream] = []string{o.stream}
	if m.ID != "" {
		// One message may be published under several subjects of a stream, which
		// drops what has the id of another.
		out.Header[headerMessageID], out.Header[headerNatsID] = []string{m.ID}, []string{m.ID + "@" + key}
	}
	if size := headersSize(out.Header); size > maxHeaders {
		return nil, fmt.Errorf("%w: jetstream: the headers have %d bytes and JetStream takes %d", broker.ErrConfig, size, maxHeaders)
	}
	return out, nil
}

// answered is told what came of one message.
func (o *outlet) answered(p *parcel, answer *nats.Msg, err error) {
	switch {
	case errors.Is(err, errNobody):
		o.stray(p)
		return
	case errors.Is(err, broker.ErrPermission):
		err = fmt.Errorf("jetstream: publish to %s: %w; %s", o.stream, err, permissionsPage)
	case isAny(err, nats.ErrMaxPayload, nats.ErrBadHeaderMsg, nats.ErrHeadersNotSupported, nats.ErrBadSubject):
		err = fmt.Errorf("jetstream: the message was not sent: %w: %w", broker.ErrConfig, err)
	case err != nil:
		err = fmt.Errorf("jetstream: the message has no PubAck: %w: %w", broker.ErrUnknown, err)
	default:
		if err = stored(answer, o.stream, nil); isCode(err, codeOtherStream) {
			o.stray(p)
			return
		}
	}
	if errors.Is(err, broker.ErrPermission) {
		o.giveUp(err)
	}
	o.finish(p, err)
}

// codeOtherStream: the subject belongs to a stream other than the expected.
const codeOtherStream jetstream.ErrorCode = 10060

// stray finds out, for all that come meanwhile at once, whether the stream is
// gone or the subject is none of it. The server answers both alike.
func (o *outlet) stray(p *parcel) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.strays = append(o.strays, p)
	if !o.asking {
		o.asking = true
		go o.askForStream()
	}
}

func (o *outlet) askForStream() {
	for {
		list := o.nextStrays()
		if list == nil {
			return
		}
		stream, err := o.conn.stream(context.Background(), o.stream) // bounded as every request
		if errors.Is(err, broker.ErrMissing) {
			o.giveUp(err)
		}
		for _, p := range list {
			o.finish(p, o.strayError(p.subject, stream, err))
		}
	}
}

// strayError is what to say of a message that nobody took, when err came of
// asking for the stream. One that takes the subject and did not was without a
// leader for a moment.
func (o *outlet) strayError(subject string, stream jetstream.Stream, err error) error {
	switch {
	case errors.Is(err, broker.ErrMissing):
		return err
	case err != nil:
		return fmt.Errorf("jetstream: nobody took the message for %s: %w: %s", o.stream, broker.ErrClosed, err.Error())
	case matchesAny(stream.CachedInfo().Config.Subjects, subject):
		return fmt.Errorf("jetstream: stream %s took nothing for a moment: %w", o.stream, broker.ErrClosed)
	}
	return fmt.Errorf("jetstream: stream %s does not take subject %q: %w", o.stream, subject, broker.ErrUnrouted)
}

func (o *outlet) nextStrays() []*parcel {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.strays
	o.strays = nil
	o.asking = list != nil
	return list
}

// begin counts in a message, unless no more are taken.
func (o *outlet) begin(p *parcel) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing || o.reason != nil {
		return false
	}
	o.open[p] = true
	o.underWay++
	return true
}

// finish tells the outcome, unless that of Close came first.
func (o *outlet) finish(p *parcel, err error) {
	o.mu.Lock()
	open := o.open[p]
	delete(o.open, p)
	o.mu.Unlock()
	if !open {
		return
	}
	p.done(err)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.underWay--
	o.settled()
}

// settled tells those who wait for the last outcome. It is called with mu held.
func (o *outlet) settled() {
	if o.underWay > 0 {
		return
	}
	if o.idle != nil {
		close(o.idle)
		o.idle = nil
	}
	if o.reason != nil && !o.ended() {
		close(o.over)
	}
}

func (o *outlet) ended() bool {
	select {
	case <-o.over:
		return true
	default:
		return false
	}
}

// giveUp takes no more messages; the outlet ends with the last outcome. The
// first reason stays.
func (o *outlet) giveUp(reason error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.reason == nil {
		o.reason = reason
	}
}

// end is giveUp for who has no outcome under way himself.
func (o *outlet) end(reason error) {
	o.giveUp(reason)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.settled()
}

// Done implements [broker.Outlet].
func (o *outlet) Done() <-chan struct{} { return o.over }

// Err implements [broker.Outlet].
func (o *outlet) Err() error {
	if !o.ended() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reason
}

// Close implements [broker.Outlet]. It returns an error when something was cut
// off.
func (o *outlet) Close(ctx context.Context) error {
	select {
	case <-o.close():
	case <-o.over:
	case <-ctx.Done():
	}
	o.end(broker.ErrClosed)
	cut := o.unfinished()
	for _, p := range cut {
		o.finish(p, fmt.Errorf("jetstream: the outlet to %s was closed before the PubAck: %w", o.stream, broker.ErrUnknown))
	}
	<-o.over
	if len(cut) > 0 {
		return fmt.Errorf("jetstream: the outlet to %s was closed with %d messages under way: %w", o.stream, len(cut), context.Cause(ctx))
	}
	return nil
}

// close takes no more messages, and returns what is closed when none is under
// way.
func (o *outlet) close() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closing = true
	if o.idle == nil {
		o.idle = make(chan struct{})
	}
	idle := o.idle
	o.settled()
	return idle
}

func (o *outlet) unfinished() []*parcel {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.open))
}
