package jetstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

// A consumer with a MaxDeliver leaves a message in its stream for ever once it
// was delivered so often, and tells so by an advisory. The message is no
// poison for that: prefetched ones and releases are counted too. It is taken
// on from there as one that has come back, where nothing but our own bound
// ends it.

func exceededSubject(s source) string {
	return "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + s.stream + "." + s.consumer
}

// exceeded is told of a message that reached MaxDeliver. All sessions of the
// queue hear of it, and their copies are one.
func (s *session) exceeded(m *nats.Msg) {
	var advisory struct {
		Sequence uint64 `json:"stream_seq"`
	}
	if err := json.Unmarshal(m.Data, &advisory); err != nil || advisory.Sequence == 0 {
		return
	}
	select {
	case s.advised <- advisory.Sequence:
	case <-s.done:
	}
}

// takeOnExceeded works off the advisories.
func (s *session) takeOnExceeded() {
	for {
		select {
		case seq := <-s.advised:
			s.takeOn(seq)
		case <-s.done:
			return
		}
	}
}

func (s *session) takeOn(seq uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), s.conn.call)
	defer cancel()
	err := s.copyExceeded(ctx, seq)
	text := fmt.Sprintf("stream %s, sequence %d: the consumer's MaxDeliver was reached, and the message goes on as one that came back", s.source.stream, seq)
	if err != nil {
		text = fmt.Sprintf("stream %s, sequence %d: the consumer's MaxDeliver was reached, and the message lies there for nobody: %v", s.source.stream, seq, err)
	}
	s.notify(broker.NoticeWarning, text)
}

func (s *session) copyExceeded(ctx context.Context, seq uint64) error {
	var raw *jetstream.RawStreamMsg
	err := s.conn.request(ctx, "read the message", "STREAM.MSG.GET."+s.source.stream, func(ctx context.Context) error {
		stream, err := s.conn.js.Stream(ctx, s.source.stream)
		if err == nil {
			raw, err = stream.GetMsg(ctx, seq)
		}
		return err
	})
	if err != nil {
		return err
	}
	n := s.names()
	m := &nats.Msg{Subject: n.back(s.source.source), Header: carried(raw.Header, keeping), Data: raw.Data}
	route(m.Header, s.source.stream, raw.Subject)
	once(m, n.workStream(), fmt.Sprintf("exceeded-%s-%d-%d", s.source.created, seq, raw.Time.UnixNano()))
	return s.conn.publish(ctx, m, n.workStream())
}
