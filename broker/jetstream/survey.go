package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

var _ broker.Surveyor = (*Broker)(nil)

// survey is one look at the account.
type survey struct {
	broker  *Broker
	conn    *conn
	streams map[string]streamSeen // each is looked at once
	found   broker.Survey
}

// streamSeen is a stream, or why it could not be looked at.
type streamSeen struct {
	stream jetstream.Stream
	err    error
}

// Survey implements [broker.Surveyor]. It asks for streams and consumers and
// reads the oldest messages that wait; nothing is delivered or counted.
func (b *Broker) Survey(ctx context.Context, queues []string) (broker.Survey, error) {
	c, err := b.connection(ctx)
	if err != nil {
		return broker.Survey{}, err
	}
	v := &survey{broker: b, conn: c, streams: map[string]streamSeen{}}
	v.found.Product = "NATS JetStream " + c.nc.ConnectedServerVersion()
	v.storage(ctx)
	for _, queue := range queues {
		s := broker.SourceSurvey{Queue: queue, Consumers: -1}
		s.Err = v.source(ctx, &s)
		if isAny(s.Err, broker.ErrUnreachable, broker.ErrCredentials, broker.ErrClosed) {
			return broker.Survey{}, s.Err
		}
		v.found.Sources = append(v.found.Sources, s)
	}
	return v.found, ctx.Err()
}

func (v *survey) source(ctx context.Context, s *broker.SourceSurvey) error {
	src, err := parseSource(s.Queue)
	if err != nil {
		return err
	}
	info, err := v.conn.consumerInfo(ctx, src)
	if err != nil {
		return err
	}
	if err := usable(src, info.Config); err != nil {
		return err
	}
	consumerSeen(s, info)
	stream := v.stream(ctx, src.stream)
	if stream.err != nil {
		s.Unknown = append(s.Unknown, "what its stream does with messages: "+stream.err.Error())
	} else {
		s.Retention = stream.stream.CachedInfo().Config.MaxAge
		v.waiting(ctx, s, src, info)
		v.stranded(ctx, s, stream.stream, info)
	}
	v.back(ctx, s, src)
	v.places(ctx, s, src)
	return nil
}

// stream looks at a stream once, and at what its place in the cluster does to
// it.
func (v *survey) stream(ctx context.Context, name string) streamSeen {
	if seen, ok := v.streams[name]; ok {
		return seen
	}
	stream, err := v.conn.stream(ctx, name)
	v.streams[name] = streamSeen{stream, err}
	if err == nil {
		if text := unsafe(stream.CachedInfo()); text != "" {
			v.found.Trouble = append(v.found.Trouble, "stream "+name+": "+text)
		}
	}
	return v.streams[name]
}

// unsafe is why a cluster does not keep a stream as it could. A server that is
// alone has no choice, and tells no cluster.
func unsafe(info *jetstream.StreamInfo) string {
	c := info.Cluster
	if c == nil || c.Name == "" {
		return ""
	}
	for _, peer := range c.Replicas {
		if peer.Offline {
			return fmt.Sprintf("server %s, which has one of its %d copies, is offline", peer.Name, info.Config.Replicas)
		}
	}
	switch {
	case c.Leader == "":
		return "it has no leader, and takes and gives nothing"
	case info.Config.Replicas < 2:
		return "it has one copy, on " + c.Leader + ", although there is a cluster"
	}
	return ""
}

// storage looks at what the account may store in files.
func (v *survey) storage(ctx context.Context) {
	account, err := request(ctx, v.conn, "account", "INFO", func(ctx context.Context) (*jetstream.AccountInfo, error) {
		return v.conn.js.AccountInfo(ctx)
	})
	if err != nil {
		v.found.Unknown = append(v.found.Unknown, "how much the account may store: "+err.Error())
		return
	}
	if text := fullAccount(account.Tier); text != "" {
		v.found.Trouble = append(v.found.Trouble, "account: "+text)
	}
	for name, tier := range account.Tiers {
		if text := fullAccount(tier); text != "" {
			v.found.Trouble = append(v.found.Trouble, "account, tier "+name+": "+text)
		}
	}
}

func fullAccount(t jetstream.Tier) string {
	if !nearly(t.Store, t.Limits.MaxStore) {
		return ""
	}
	return fmt.Sprintf("it stores %d of %d bytes, and at the limit every publish is refused, parking included", t.Store, t.Limits.MaxStore)
}

// nearly reports whether nine tenths of a limit are used. A limit below 1 is
// none.
func nearly(used uint64, limit int64) bool {
	return limit > 0 && float64(used) >= 0.9*float64(limit)
}

// idle is for how long nothing moves where something is wrong: pull requests
// are renewed much sooner.
const idle = time.Minute

// consumerSeen is what the consumer itself tells.
func consumerSeen(s *broker.SourceSurvey, info *jetstream.ConsumerInfo) {
	cfg := info.Config
	s.Ready, s.Unsettled = int(info.NumPending), info.NumAckPending
	s.NativeLimit, s.Expires = max(cfg.MaxDeliver, 0), cfg.InactiveThreshold
	still := before(info.Delivered.Last, info.TimeStamp) && before(info.AckFloor.Last, info.TimeStamp)
	if info.NumWaiting == 0 && info.NumAckPending == 0 && still {
		s.Consumers = 0 // nobody asks, and nobody has any: how many do is not told
	}
	switch {
	case info.Paused || info.PauseRemaining > 0:
		s.Stopped = fmt.Sprintf("paused by its owner for %s more", info.PauseRemaining.Round(time.Second))
	case cfg.MaxAckPending > 0 && info.NumAckPending >= cfg.MaxAckPending && info.NumPending > 0 && still:
		s.Stopped = fmt.Sprintf("at its limit of %d messages that are handed out and not acknowledged, and none of them moves", cfg.MaxAckPending)
	}
}

// before reports whether something happened idle before now, or never did.
func before(last *time.Time, now time.Time) bool {
	return last == nil || now.Sub(*last) >= idle
}

// waiting looks at the oldest message that was never handed out, and at what
// its stream is about to do with it.
func (v *survey) waiting(ctx context.Context, s *broker.SourceSurvey, src source, info *jetstream.ConsumerInfo) {
	state, cfg := v.streams[src.stream].stream.CachedInfo().State, v.streams[src.stream].stream.CachedInfo().Config
	full := fullStream(state, cfg)
	if cfg.Discard == jetstream.DiscardNew && full != "" {
		s.Risks = append(s.Risks, "stream "+src.stream+" "+full+", and refuses new messages at its limit")
	}
	if info.NumPending == 0 {
		return
	}
	list, err := v.conn.undelivered(ctx, src)
	var oldest *jetstream.RawStreamMsg
	if err == nil {
		oldest, err = list.next(ctx, 0)
	}
	switch {
	case err != nil:
		s.Unknown = append(s.Unknown, "how old the oldest message is: "+err.Error())
	case oldest != nil:
		s.Oldest = info.TimeStamp.Sub(oldest.Time)
		if cfg.Discard == jetstream.DiscardOld && full != "" && oldest.Sequence-state.FirstSeq <= state.Msgs/10 {
			s.Risks = append(s.Risks, "stream "+src.stream+" "+full+", and drops its oldest messages at its limit, which nobody has had")
		}
	}
}

// fullStream says of a stream that it is nearly full.
func fullStream(state jetstream.StreamState, cfg jetstream.StreamConfig) string {
	switch {
	case nearly(state.Msgs, cfg.MaxMsgs):
		return fmt.Sprintf("has %d of %d messages", state.Msgs, cfg.MaxMsgs)
	case nearly(state.Bytes, cfg.MaxBytes):
		return fmt.Sprintf("has %d of %d bytes", state.Bytes, cfg.MaxBytes)
	}
	return ""
}

// back adds what has come back and waits to be taken again. Before anything
// came back there is no such consumer.
func (v *survey) back(ctx context.Context, s *broker.SourceSurvey, src source) {
	info, err := v.conn.consumerInfo(ctx, source{v.broker.names.workStream(), src.backConsumer()})
	switch {
	case errors.Is(err, broker.ErrMissing):
	case err != nil:
		s.Unknown = append(s.Unknown, "what has come back and waits: "+err.Error())
	default:
		s.Ready, s.Unsettled = s.Ready+int(info.NumPending), s.Unsettled+info.NumAckPending
	}
}
