package jetstream

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

// Depth implements [broker.Sifter]. For a source it counts what was not handed
// out yet, and as consumers the pull requests that wait at the server.
func (b *Broker) Depth(ctx context.Context, queue string) (broker.Depth, error) {
	p, ok := parsePlace(queue)
	if !ok {
		return broker.Depth{}, missing(queue)
	}
	c, err := b.connection(ctx)
	if err != nil {
		return broker.Depth{}, err
	}
	if p.kind == placeSource {
		return c.sourceDepth(ctx, b.names, p.source)
	}
	runs, err := p.shelves(ctx, b.names, c)
	if err != nil || len(runs) == 0 {
		return broker.Depth{}, err
	}
	n, err := runs[0].count(ctx)
	return broker.Depth{Messages: n}, err
}

func (c *conn) sourceDepth(ctx context.Context, n names, s source) (broker.Depth, error) {
	info, err := c.consumerInfo(ctx, s)
	if err != nil {
		return broker.Depth{}, err
	}
	d := broker.Depth{Messages: int(info.NumPending), Consumers: info.NumWaiting}
	back, err := c.consumerInfo(ctx, source{n.workStream(), s.backConsumer()})
	if err == nil {
		d.Messages += int(back.NumPending)
	}
	return d, nil
}

// count counts the messages of a shelf in a stream of ours.
func (r *shelf) count(ctx context.Context) (n int, err error) {
	name := r.name()
	info, err := request(ctx, r.conn, "count in stream "+name, "STREAM.INFO."+name, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return r.stream.Info(ctx, jetstream.WithSubjectFilter(r.filter))
	})
	if err != nil {
		return 0, err
	}
	for messages := range maps.Values(info.State.Subjects) {
		n += int(messages)
	}
	return n, nil
}

// Sift implements [broker.Sifter]. Looking costs nothing and changes nothing:
// messages are read by their sequence, not consumed. A message of a source can
// be removed only where its stream is a work queue.
func (b *Broker) Sift(
	ctx context.Context, queue string, opts broker.SiftOptions,
	pick func(context.Context, *broker.Stored) (broker.Action, error),
) (broker.Sifted, error) {
	p, ok := parsePlace(queue)
	if !ok {
		return broker.Sifted{}, missing(queue)
	}
	c, err := b.connection(ctx)
	if err != nil {
		return broker.Sifted{}, err
	}
	runs, err := p.shelves(ctx, b.names, c)
	if err != nil {
		return broker.Sifted{}, err
	}
	s := &sift{broker: b, conn: c, queue: queue, source: p.source, opts: opts, pick: pick, place: p.kind}
	for _, run := range runs {
		if over, err := s.through(ctx, run); over || err != nil {
			return s.sum, err
		}
	}
	return s.sum, nil
}

// sift is one going-through.
type sift struct {
	broker *Broker
	conn   *conn
	queue  string
	source source
	place  placeKind
	opts   broker.SiftOptions
	pick   func(context.Context, *broker.Stored) (broker.Action, error)
	sum    broker.Sifted

	proven   broker.Target // the last target that was there, and when
	provenAt time.Time
}

const provenFor = time.Second

// through asks about each message of a shelf, and reports whether the sift is
// over.
func (s *sift) through(ctx context.Context, run *shelf) (over bool, err error) {
	var seq uint64
	for s.opts.Limit <= 0 || s.sum.Seen < s.opts.Limit {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		raw, err := run.next(ctx, seq)
		if raw == nil || err != nil {
			return false, err
		}
		seq = raw.Sequence
		action, err := s.pick(ctx, s.stored(raw))
		s.sum.Seen++
		err = s.carryOut(context.WithoutCancel(ctx), run, raw, action, err)
		if s.opts.Settled != nil {
			s.opts.Settled(s.sum)
		}
		if err != nil || action.Verb == broker.VerbStop {
			return true, err
		}
	}
	return true, nil
}

// stored is a message as one who looks sees it.
func (s *sift) stored(raw *jetstream.RawStreamMsg) *broker.Stored {
	m := read(raw.Header, raw.Data)
	c, err := capture(raw.Header, "")
	from := flowSource
	if raw.Header[headerStream] != nil {
		from = flowBack
	}
	m.Origin = origin(raw.Header, c, s.source.stream, raw.Subject, s.source.String(), from)
	if c != nil {
		m.Attempt, m.Lap = c.Attempt, c.Lap
	}
	return &broker.Stored{Message: &m, Queue: s.queue, Position: s.sum.Seen, Capture: c, CaptureErr: err}
}

// carryOut does what pick said and counts it; an original that stays is kept,
// whatever the reason. What was begun is not cut off, but bounded by each
// request's own time.
func (s *sift) carryOut(ctx context.Context, run *shelf, raw *jetstream.RawStreamMsg, a broker.Action, err error) error {
	count := &s.sum.Kept
	if err == nil {
		switch a.Verb {
		case broker.VerbCopy:
			count, err = &s.sum.Copied, s.copy(ctx, run, raw, a)
		case broker.VerbReply:
			err = unsupported("a reply: JetStream does not keep a request's reply address")
		case broker.VerbDrop:
			count, err = &s.sum.Dropped, run.remove(ctx, raw.Sequence)
		}
	}
	if err != nil {
		count = &s.sum.Kept
	}
	*count++
	return err
}

// copy publishes a copy and removes the original once the copy is stored.
func (s *sift) copy(ctx context.Context, run *shelf, raw *jetstream.RawStreamMsg, a broker.Action) error {
	if !run.take {
		return run.remove(ctx, raw.Sequence)
	}
	want := keeping
	if a.Fresh {
		want = fresh
	}
	m := &nats.Msg{Header: carried(raw.Header, want), Data: raw.Data}
	for name, v := range a.Stamp {
		m.Header[name] = []string{text(v)}
	}
	stream, err := s.address(ctx, m, a.Target)
	if err != nil {
		return err
	}
	if a.Target.Queue != "" && a.Target.Key == "" {
		from := s.stored(raw).Message.Origin
		route(m.Header, from.Exchange, from.Key)
	}
	once(m, stream, s.copyID(run, raw, m.Subject))
	if s.place == placeHold && stream == run.name() {
		inPlaceOf(m, raw)
	}
	switch err := s.conn.publish(ctx, m, stream); {
	case s.place == placeHold && a.Target.Queue == s.source.String() && isCode(err, jetstream.JSErrCodeStreamWrongLastSequence):
		return nil // its time was over meanwhile, and it went where it was to go
	case err != nil:
		return err
	}
	return run.remove(ctx, raw.Sequence)
}

// inPlaceOf makes the server store m and remove the scheduled message in one
// step, and only if that is still there: so the end of a hold that is due and
// the one that a person asks for are one copy, but for the moment in which the
// server has the one in hand already.
func inPlaceOf(m letter, scheduled *jetstream.RawStreamMsg) {
	m.Header[headerScheduler] = []string{scheduled.Subject}
	m.Header[headerScheduleNext] = []string{"purge"}
	m.Header[headerExpectSequence] = []string{strconv.FormatUint(scheduled.Sequence, 10)}
	m.Header[headerExpectSequenceOf] = []string{scheduled.Subject}
}

// address is the broker's, with its look at the target remembered for a
// moment: a replay of thousands need not ask thousands of times.
func (s *sift) address(ctx context.Context, m letter, target broker.Target) (string, error) {
	if target == s.proven && time.Since(s.provenAt) < provenFor {
		return s.broker.route(m, target)
	}
	stream, err := s.broker.address(ctx, s.conn, m, target)
	if err == nil {
		s.proven, s.provenAt = target, time.Now()
	}
	return stream, err
}

// copyID lets a copy that is made again after a crash be the same one.
func (s *sift) copyID(run *shelf, raw *jetstream.RawStreamMsg, subject string) string {
	return fmt.Sprintf("sift-%s-%d-%s-%s", run.name(), raw.Sequence, strconv.FormatInt(raw.Time.UnixNano(), 36), subject)
}
