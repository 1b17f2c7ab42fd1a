package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

// A consumer with a MaxDeliver leaves a message in its stream for ever once it
// was delivered so often, and tells so by an advisory. The message is no
// poison for that: prefetched ones and releases are counted too. It is taken
// on from there as one that has come back, where nothing but our own bound
// ends it, and acknowledged then, so that a work queue does not keep it.

const advisories = "$JS.EVENT.ADVISORY."

func (s *session) hearExceeded(ctx context.Context) (err error) {
	subject := advisories + "CONSUMER.MAX_DELIVERIES." + s.source.stream + "." + s.source.consumer
	if s.advice, err = s.conn.nc.Subscribe(subject, s.exceeded); err != nil {
		return classify("subscribe to advisories", err)
	}
	if err := s.conn.mayHear(ctx, subject); err != nil {
		return err
	}
	s.closed.Go(s.takeOnExceeded)
	return nil
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
	where := fmt.Sprintf("stream %s, sequence %d: the consumer's MaxDeliver was reached, and the message ", s.source.stream, seq)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound): // settled meanwhile
	case err != nil:
		s.notify(broker.NoticeWarning, where+"lies there for nobody: "+err.Error())
	default:
		s.notify(broker.NoticeWarning, where+"goes on as one that came back")
	}
}

func (s *session) copyExceeded(ctx context.Context, seq uint64) error {
	raw, err := s.conn.read(ctx, s.source.stream, readRequest{Sequence: seq})
	if err != nil {
		return err
	}
	n := s.names()
	m := &nats.Msg{Subject: n.back(s.source.source), Header: carried(raw.Header, keeping), Data: raw.Data}
	route(m.Header, s.source.stream, raw.Subject)
	once(m, n.workStream(), fmt.Sprintf("exceeded-%s-%d-%d", s.source.created, seq, raw.Time.UnixNano()))
	if err := s.conn.publish(ctx, m, n.workStream()); err != nil {
		return err
	}
	// Should this be lost, the message lies in its stream and is not delivered.
	return s.conn.nc.Publish(ackSubject(s.source.source, int64(seq)), ackDone)
}
