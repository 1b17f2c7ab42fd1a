package jetstream

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

func (c *conn) stream(ctx context.Context, name string) (jetstream.Stream, error) {
	return request(ctx, c, "stream "+name, "STREAM.INFO."+name, func(ctx context.Context) (jetstream.Stream, error) {
		return c.js.Stream(ctx, name)
	})
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

func (c *conn) consumerInfo(ctx context.Context, s source) (*jetstream.ConsumerInfo, error) {
	subject := "CONSUMER.INFO." + s.stream + "." + s.consumer
	return request(ctx, c, "consumer "+s.String(), subject, func(ctx context.Context) (*jetstream.ConsumerInfo, error) {
		consumer, err := c.js.Consumer(ctx, s.stream, s.consumer)
		if err != nil {
			return nil, err
		}
		return consumer.CachedInfo(), nil
	})
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
func (r *shelf) get(ctx context.Context, seq uint64) (*jetstream.RawStreamMsg, error) {
	filter := r.filter
	if filter == "" {
		filter = ">"
	}
	return r.conn.read(ctx, r.name(), readRequest{Sequence: seq, Filter: filter})
}

func (r *shelf) name() string { return r.stream.CachedInfo().Config.Name }

// remove deletes one message. That it is gone already is as good.
func (r *shelf) remove(ctx context.Context, seq uint64) error {
	name := r.name()
	if !r.take {
		return unsupported("to remove a message from stream %s for one of its consumers: consume it", name)
	}
	_, err := request(ctx, r.conn, "delete from stream "+name, "STREAM.MSG.DELETE."+name, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, r.stream.DeleteMsg(ctx, seq)
	})
	if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) && r.gone(ctx, seq) {
		return nil
	}
	if errors.Is(err, broker.ErrUnreachable) {
		return errors.Join(broker.ErrUnknown, err)
	}
	return err
}

func (r *shelf) gone(ctx context.Context, seq uint64) bool {
	_, err := r.conn.read(ctx, r.name(), readRequest{Sequence: seq})
	return errors.Is(err, jetstream.ErrMsgNotFound)
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
