package jetstream

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

// mostStranded is how many messages are looked for.
const mostStranded = 20

// stranded finds what was handed out MaxDeliver times. JetStream has no list of
// it: such a message is in the stream, was delivered, is not acknowledged and
// not under way. Where acknowledged messages stay, only the first after the
// floor is certain; where others are under way, none is.
func (v *survey) stranded(ctx context.Context, s *broker.SourceSurvey, stream jetstream.Stream, info *jetstream.ConsumerInfo) {
	if s.NativeLimit == 0 || info.AckFloor.Stream >= info.Delivered.Stream {
		return
	}
	cfg := info.Config
	run := &shelf{
		conn: v.conn, stream: stream, filter: cfg.FilterSubject, also: cfg.FilterSubjects,
		from: info.AckFloor.Stream + 1, to: info.Delivered.Stream,
	}
	most, removes := 1, stream.CachedInfo().Config.Retention == jetstream.WorkQueuePolicy
	if removes {
		most = mostStranded
	}
	list, err := run.first(ctx, most+info.NumAckPending)
	switch {
	case err != nil:
		s.Unknown = append(s.Unknown, "which messages will never be delivered again: "+err.Error())
	case len(list) == 0:
	case info.NumAckPending == 0:
		s.Stranded = list
		if !removes {
			s.Unknown = append(s.Unknown, fmt.Sprintf("whether of the messages %d to %d others will never be delivered again: those that are acknowledged stay in the stream, too", run.from, run.to))
		}
	case removes && len(list) > info.NumAckPending:
		s.Unknown = append(s.Unknown, fmt.Sprintf("which of the messages %s and on will never be delivered again: %d or more of them, while %d are under way", list[0], len(list)-info.NumAckPending, info.NumAckPending))
	}
}

// first are the sequences of up to n messages of a shelf.
func (r *shelf) first(ctx context.Context, n int) (list []string, err error) {
	for after := uint64(0); len(list) < n; {
		m, err := r.next(ctx, after)
		if err != nil || m == nil {
			return list, err
		}
		list, after = append(list, fmt.Sprint(m.Sequence)), m.Sequence
	}
	return list, nil
}
