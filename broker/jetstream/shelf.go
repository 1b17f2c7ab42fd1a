package jetstream

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

func (c *conn) stream(ctx context.Context, name string) (stream jetstream.Stream, err error) {
	err = c.request(ctx, "stream "+name, "STREAM.INFO."+name, func(ctx context.Context) error {
		stream, err = c.js.Stream(ctx, name)
		return err
	})
	return stream, err
}

// undelivered is what a consumer has not handed out yet. What it has handed
// out and waits for, or will hand out again, is not among it.
func (c *conn) undelivered(ctx context.Context, s source) (*shelf, error) {
	info, err := c.consumerInfo(ctx, s)
	if err != nil {
		return nil, err
	}
	stream, err := c.stream(ctx, s.stream)
	if err != nil {
		return nil, err
	}
	state, cfg := stream.CachedInfo().State, stream.CachedInfo().Config
	run := &shelf{
		conn: c, stream: stream, filter: info.Config.FilterSubject, also: info.Config.FilterSubjects,
		from: info.Delivered.Stream + 1, to: state.LastSeq, take: cfg.Retention == jetstream.WorkQueuePolicy,
	}
	if info.NumPending == 0 {
		run.to = 0
	}
	return run, nil
}

func (c *conn) consumerInfo(ctx context.Context, s source) (info *jetstream.ConsumerInfo, err error) {
	err = c.request(ctx, "consumer "+s.String(), "CONSUMER.INFO."+s.stream+"."+s.consumer, func(ctx context.Context) error {
		consumer, err := c.js.Consumer(ctx, s.stream, s.consumer)
		if err == nil {
			info = consumer.CachedInfo()
		}
		return err
	})
	return info, err
}

// next returns the first message of the shelf after a sequence, or nil.
func (r *shelf) next(ctx context.Context, after uint64) (*jetstream.RawStreamMsg, error) {
	for {
		seq := max(r.from, after+1)
		if seq > r.to {
			return nil, nil
		}
		m, err := r.get(ctx, seq)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return nil, nil
		case err != nil:
			return nil, err
		case m.Sequence > r.to:
			return nil, nil
		case len(r.also) == 0 || matchesAny(r.also, m.Subject):
			return m, nil
		}
		after = m.Sequence
	}
}

// get reads the first message from seq on that the filter lets through.
func (r *shelf) get(ctx context.Context, seq uint64) (m *jetstream.RawStreamMsg, err error) {
	filter := r.filter
	if filter == "" {
		filter = ">"
	}
	name := r.stream.CachedInfo().Config.Name
	err = r.conn.request(ctx, "read stream "+name, name, func(ctx context.Context) error {
		m, err = r.stream.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(filter))
		return err
	})
	return m, err
}

// remove deletes one message. That it is gone already is as good.
func (r *shelf) remove(ctx context.Context, seq uint64) error {
	name := r.stream.CachedInfo().Config.Name
	if !r.take {
		return unsupported("to remove a message from stream %s for one of its consumers: consume it", name)
	}
	err := r.conn.request(ctx, "delete from stream "+name, "STREAM.MSG.DELETE."+name, func(ctx context.Context) error {
		return r.stream.DeleteMsg(ctx, seq)
	})
	if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) || errors.Is(err, jetstream.ErrMsgNotFound) {
		_, there := r.get(ctx, seq)
		if errors.Is(there, jetstream.ErrMsgNotFound) {
			return nil
		}
	}
	if errors.Is(err, broker.ErrUnreachable) {
		return errors.Join(broker.ErrUnknown, err)
	}
	return err
}

func matchesAny(filters []string, subject string) bool {
	for _, f := range filters {
		if matches(f, subject) {
			return true
		}
	}
	return false
}

// matches reports whether a subject is one of those that a filter means.
func matches(filter, subject string) bool {
	for {
		want, filterRest, moreFilter := strings.Cut(filter, ".")
		have, rest, more := strings.Cut(subject, ".")
		switch {
		case want == ">":
			return true
		case want != "*" && want != have:
			return false
		case !moreFilter || !more:
			return moreFilter == more
		}
		filter, subject = filterRest, rest
	}
}
