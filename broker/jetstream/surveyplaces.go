package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

// places looks at where copies wait and are parked. A stream that is not there
// is made by the first session.
func (v *survey) places(ctx context.Context, s *broker.SourceSurvey, src source) {
	n, replicas := v.broker.names, v.broker.conf.Replicas
	for _, want := range []jetstream.StreamConfig{workStream(n, replicas), parkedStream(n, replicas)} {
		seen := v.stream(ctx, want.Name)
		switch {
		case errors.Is(seen.err, broker.ErrMissing):
			continue
		case seen.err != nil:
			s.Unknown = append(s.Unknown, "stream "+want.Name+": "+seen.err.Error())
			continue
		}
		have := seen.stream.CachedInfo()
		switch bounds, err := bounds(have.Config), keeps(have.Config, want); {
		case len(bounds) > 0:
			s.ParkedBounds = append(s.ParkedBounds, bounds...)
		case err != nil:
			s.ParkedErr = errors.Join(s.ParkedErr, err)
		case fullStream(have.State, have.Config) != "":
			v.fullPlace(want.Name, fullStream(have.State, have.Config))
		}
		if want.Name == n.parkedStream() {
			s.ParkedRetention = have.Config.MaxAge
			v.parked(ctx, s, src, seen.stream)
		}
	}
}

// fullPlace is told once, whoever shares the place.
func (v *survey) fullPlace(name, full string) {
	text := "limit of stream " + name + ": it " + full + ", and nothing can be parked or held once it is full"
	if !slices.Contains(v.found.Trouble, text) {
		v.found.Trouble = append(v.found.Trouble, text)
	}
}

// bounds are the rules by which a stream of ours removes copies.
func bounds(have jetstream.StreamConfig) (list []string) {
	if have.MaxAge > 0 {
		list = append(list, fmt.Sprintf("stream %s drops messages after %v", have.Name, have.MaxAge))
	}
	if have.Discard == jetstream.DiscardOld && (have.MaxMsgs > 0 || have.MaxBytes > 0) {
		list = append(list, fmt.Sprintf("stream %s drops its oldest messages at its limit (%d messages, %d bytes; -1 is none)", have.Name, have.MaxMsgs, have.MaxBytes))
	}
	if have.MaxMsgsPerSubject > 0 && !have.DiscardNewPerSubject {
		list = append(list, fmt.Sprintf("stream %s keeps %d messages of a queue and drops the older ones", have.Name, have.MaxMsgsPerSubject))
	}
	return list
}

// parked counts what is parked for a source, and looks at the oldest.
func (v *survey) parked(ctx context.Context, s *broker.SourceSurvey, src source, stream jetstream.Stream) {
	subject := v.broker.names.parked(src)
	info, err := request(ctx, v.conn, "parked of "+src.String(), "STREAM.INFO."+v.broker.names.parkedStream(), func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return stream.Info(ctx, jetstream.WithSubjectFilter(subject))
	})
	if err != nil {
		s.Unknown = append(s.Unknown, "how much is parked: "+err.Error())
		return
	}
	if s.Parked = int(info.State.Subjects[subject]); s.Parked == 0 {
		return
	}
	run := &shelf{conn: v.conn, stream: stream, filter: subject, from: 1, to: info.State.LastSeq}
	oldest, err := run.next(ctx, 0)
	switch {
	case err != nil:
		s.Unknown = append(s.Unknown, "how old the oldest parked message is: "+err.Error())
	case oldest != nil:
		s.ParkedOldest = info.TimeStamp.Sub(oldest.Time)
	}
}
