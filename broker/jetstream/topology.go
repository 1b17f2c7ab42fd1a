package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

// found is what a session must know of its source.
type found struct {
	source
	created    string        // tells this consumer from an earlier one of its name
	ackWait    time.Duration // the shortest there is
	maxDeliver int           // 0: without end
	maxBatch   int           // of one pull request; 0: any
	maxExpires time.Duration // of one pull request; 0: any
	transient  bool
	skew       time.Duration // the server's clock minus ours
	warnings   []string
}

// find reads the source and refuses one that cannot be consumed without loss.
// It changes nothing.
func (c *conn) find(ctx context.Context, s source) (found, error) {
	asked := time.Now()
	info, err := c.consumerInfo(ctx, s)
	switch {
	case errors.Is(err, broker.ErrMissing):
		return found{}, fmt.Errorf("%w; its owner makes it, as with: nats consumer add %s %s --pull --ack explicit", err, s.stream, s.consumer)
	case errors.Is(err, jetstream.ErrNotPullConsumer):
		return found{}, fmt.Errorf("%w; make a pull consumer", err)
	case err != nil:
		return found{}, err
	}
	if err := usable(s, info.Config); err != nil {
		return found{}, err
	}
	return describe(s, info, asked.Add(time.Since(asked)/2)), nil
}

// usable refuses what would lose or mangle messages.
func usable(s source, cfg jetstream.ConsumerConfig) error {
	refuse := func(what string) error {
		return fmt.Errorf("jetstream: consumer %v %s: %w", s, what, broker.ErrMismatch)
	}
	switch {
	case cfg.AckPolicy != jetstream.AckExplicitPolicy:
		return refuse("does not acknowledge each message by itself; it needs the ack policy explicit")
	case cfg.HeadersOnly:
		return refuse("delivers headers only, so that copies would have no body")
	case cfg.PriorityPolicy != jetstream.PriorityPolicyNone:
		return refuse("has a priority policy, which Holdfast's pull requests do not follow")
	}
	return nil
}

// describe keeps what matters of a consumer; at is when the server answered,
// by our clock.
func describe(s source, info *jetstream.ConsumerInfo, at time.Time) found {
	cfg := info.Config
	f := found{
		source: s, created: fmt.Sprintf("%x", info.Created.UnixNano()), ackWait: cfg.AckWait,
		maxDeliver: max(cfg.MaxDeliver, 0), maxBatch: max(cfg.MaxRequestBatch, 0), maxExpires: cfg.MaxRequestExpires,
		transient: cfg.InactiveThreshold > 0,
	}
	for _, wait := range cfg.BackOff {
		f.ackWait = min(f.ackWait, wait)
	}
	if skew := info.TimeStamp.Sub(at); !info.TimeStamp.IsZero() && skew.Abs() > time.Second {
		f.skew = skew
		f.warn("the server's clock is %v ahead of this process's: delays are counted by the server's", skew.Round(time.Millisecond))
	}
	if f.maxDeliver > 0 {
		f.warn("consumer %v has MaxDeliver %d: JetStream stops delivering a message after that, and only Holdfast, while it runs, "+
			"takes it on from there; set it to -1", s, f.maxDeliver)
	}
	if info.PauseRemaining > 0 {
		f.warn("consumer %v is paused by its owner for %v more: nothing comes until then", s, info.PauseRemaining.Round(time.Second))
	}
	if n := stuck(info); f.maxDeliver > 0 && n > 0 {
		f.warn("consumer %v: up to %d messages after stream sequence %d were delivered MaxDeliver times and will never be delivered again; "+
			"take them out of the stream (holdfast doctor names them); raising MaxDeliver helps later ones only", s, n, info.AckFloor.Stream)
	}
	return f
}

func (f *found) warn(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

// stuck counts what was delivered, is not acknowledged and is not under way
// either.
func stuck(info *jetstream.ConsumerInfo) uint64 {
	if info.NumAckPending > 0 || info.AckFloor.Consumer >= info.Delivered.Consumer {
		return 0
	}
	return info.Delivered.Stream - info.AckFloor.Stream
}

// ensure makes what the failure path of f needs, where it is missing, and
// refuses what is there and would lose copies.
func (c *conn) ensure(ctx context.Context, n names, f found, replicas int) error {
	for _, want := range []jetstream.StreamConfig{workStream(n, replicas), parkedStream(n, replicas)} {
		if err := c.ensureStream(ctx, want); err != nil {
			return err
		}
	}
	return c.ensureBack(ctx, n, f)
}

// workStream keeps each copy until its one consumer has acknowledged it, or
// until the server has moved it.
func workStream(n names, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.workStream(), Description: "Holdfast: messages between two attempts and in a hold",
		Subjects: n.workSubjects(), Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage,
		Replicas: replicas, AllowMsgSchedules: true, AllowDirect: true,
	}
}

func parkedStream(n names, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.parkedStream(), Description: "Holdfast: parked messages, kept for a human",
		Subjects: n.parkedSubjects(), Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage,
		Discard: jetstream.DiscardNew, Replicas: replicas, AllowDirect: true,
	}
}

func (c *conn) ensureStream(ctx context.Context, want jetstream.StreamConfig) error {
	have, err := c.streamConfig(ctx, want.Name)
	if errors.Is(err, broker.ErrMissing) {
		if err := c.makeStream(ctx, want); err != nil {
			return err
		}
		have, err = c.streamConfig(ctx, want.Name)
	}
	if err != nil {
		return err
	}
	return keeps(have, want)
}

func (c *conn) makeStream(ctx context.Context, want jetstream.StreamConfig) error {
	_, err := request(ctx, c, "make stream "+want.Name, "STREAM.CREATE."+want.Name, func(ctx context.Context) (jetstream.Stream, error) {
		return c.js.CreateStream(ctx, want)
	})
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return nil // made by somebody else meanwhile, and looked at next
	}
	return err
}

func (c *conn) streamConfig(ctx context.Context, name string) (jetstream.StreamConfig, error) {
	stream, err := c.stream(ctx, name)
	if err != nil {
		return jetstream.StreamConfig{}, err
	}
	return stream.CachedInfo().Config, nil
}

// keeps refuses a stream of ours that somebody has set up so that it loses
// copies. Limits that refuse the new are an operator's right.
func keeps(have, want jetstream.StreamConfig) error {
	refuse := func(what string) error {
		return fmt.Errorf("jetstream: stream %s %s: %w; mend it (nats stream edit) or let Holdfast make it anew under another namespace",
			have.Name, what, broker.ErrMismatch)
	}
	limited := have.MaxMsgs > 0 || have.MaxBytes > 0 || have.MaxMsgsPerSubject > 0
	// A limit per subject drops the oldest even so, unless this is set, too.
	drops := have.Discard == jetstream.DiscardOld || have.MaxMsgsPerSubject > 0 && !have.DiscardNewPerSubject
	switch {
	case !slices.Equal(have.Subjects, want.Subjects):
		return refuse(fmt.Sprintf("has the subjects %q, not %q", have.Subjects, want.Subjects))
	case have.Retention != want.Retention:
		return refuse(fmt.Sprintf("has %v retention, not %v", have.Retention, want.Retention))
	case want.AllowMsgSchedules && !have.AllowMsgSchedules:
		return refuse("does not allow scheduled messages")
	case have.Storage != jetstream.FileStorage:
		return refuse("is in memory")
	case have.MaxAge > 0:
		return refuse(fmt.Sprintf("drops messages after %v", have.MaxAge))
	case limited && drops:
		return refuse("has a limit at which it drops the oldest messages")
	case have.NoAck:
		return refuse("confirms nothing")
	case have.SubjectTransform != nil:
		return refuse("gives messages other subjects")
	}
	return nil
}

// backConfig is the consumer of what has come back. It is as patient as the
// source, so that one setting of the owner's is enough.
func backConfig(n names, f found) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: f.backConsumer(), Description: "Holdfast: messages that have come back for " + f.String(),
		FilterSubject: n.back(f.source), AckPolicy: jetstream.AckExplicitPolicy, AckWait: f.ackWait,
		MaxDeliver: -1, MaxAckPending: -1,
	}
}

func (c *conn) ensureBack(ctx context.Context, n names, f found) error {
	want, at := backConfig(n, f), source{n.workStream(), f.backConsumer()}
	info, err := c.consumerInfo(ctx, at)
	switch {
	case err == nil && info.Config.FilterSubject != want.FilterSubject:
		return fmt.Errorf("jetstream: consumer %v reads %q and not %q, it is another queue's: %w; rename the consumer of one of the two",
			at, info.Config.FilterSubject, want.FilterSubject, broker.ErrMismatch)
	case err == nil && asBack(info.Config, want):
		return nil
	case err != nil && !errors.Is(err, broker.ErrMissing):
		return err
	}
	subject := "CONSUMER.CREATE." + at.stream + "." + at.consumer + "." + want.FilterSubject
	_, err = request(ctx, c, "make consumer "+at.String(), subject, func(ctx context.Context) (jetstream.Consumer, error) {
		return c.js.CreateOrUpdateConsumer(ctx, at.stream, want)
	})
	return err
}

// asBack reports whether the consumer that is there does what ours must: what
// somebody else has set on it could leave messages lying.
func asBack(have, want jetstream.ConsumerConfig) bool {
	return have.AckWait == want.AckWait && have.MaxDeliver == want.MaxDeliver && have.MaxAckPending == want.MaxAckPending &&
		len(have.BackOff) == 0 && !have.HeadersOnly && have.InactiveThreshold == 0 && have.MaxRequestBatch == 0 && have.MaxRequestExpires == 0
}
