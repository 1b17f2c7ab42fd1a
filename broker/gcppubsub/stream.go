package gcppubsub

import (
	"context"
	"errors"
	"io"
	"net/url"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/metadata"

	"github.com/holdfast-mq/holdfast/broker"
)

// closeFor is how long the service may take to end a stream. What it had sent
// and nobody read comes again after its lease.
const closeFor = 5 * time.Second

type incoming = pubsubpb.Subscriber_StreamingPullClient

// streams reports whether what comes next is streamed. A prefetch of one is
// pulled: the consumer wants one message and no other.
func (s *session) streams() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broker.conf.Mode == ModeStreaming && s.prefetch > 1
}

// stream lets the broker send messages of the source until the flow is paused,
// with as many outstanding as the prefetch has; what has come back is pulled
// beside it.
//
// The broker counts a delivery as outstanding until it knows its end, and so
// also one that is delayed for minutes. When such deliveries hold a half of
// the prefetch, the stream is ended in good order, and the next one does not
// count them.
func (s *session) stream() {
	s.mu.Lock()
	round, prefetch := s.round, s.prefetch
	s.asking++
	s.asleep = 0
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.asking--
		s.wake()
		s.mu.Unlock()
	}()
	if prefetch == 0 {
		return // paused meanwhile
	}
	ctx, cancel := context.WithCancel(s.over)
	in, err := s.openStream(ctx, prefetch)
	if err != nil {
		cancel()
		s.end(s.judge(flowSource, err))
		return
	}
	read := make(chan struct{}) // closed when the stream has ended
	beside := make(chan struct{})
	asked := false // by us, for its end
	go func() {
		defer close(beside)
		asked = s.besideStream(read, round)
		_ = in.CloseSend() // the broker ends the stream after what it has sent
		select {
		case <-read:
		case <-time.After(closeFor):
		}
		cancel()
	}()
	err = s.fromStream(in)
	close(read)
	<-beside
	if !asked {
		s.streamEnded(err)
	}
}

func (s *session) openStream(ctx context.Context, prefetch int) (incoming, error) {
	ctx = metadata.AppendToOutgoingContext(ctx, "x-goog-request-params", "subscription="+url.QueryEscape(s.source.path))
	in, err := s.conn.subs.StreamingPull(ctx, once)
	if err != nil {
		return nil, err
	}
	return in, in.Send(&pubsubpb.StreamingPullRequest{
		Subscription: s.source.path, StreamAckDeadlineSeconds: s.leaseSeconds(), MaxOutstandingMessages: int64(prefetch),
		ClientId: s.sub.Name,
	})
}

// fromStream takes in what comes until the stream ends.
func (s *session) fromStream(in incoming) error {
	for {
		answer, err := in.Recv()
		if err != nil {
			return err
		}
		s.arrived(flowSource, answer.GetReceivedMessages(), true)
	}
}

// besideStream pulls what has come back until the stream is to end, which it
// reports, or has ended.
func (s *session) besideStream(read <-chan struct{}, round int) (toEnd bool) {
	tick := time.NewTicker(backEvery)
	defer tick.Stop()
	for {
		s.mu.Lock()
		stay := s.err == nil && s.prefetch > 0 && s.round == round && s.asleep < (s.prefetch+1)/2
		changed := s.changed
		s.mu.Unlock()
		if !stay {
			return true
		}
		select {
		case <-changed:
		case <-tick.C:
			for n, ok := s.pull(flowBack, 1, 0); ok && n > 0; {
				n, ok = s.pull(flowBack, 1, 0)
			}
		case <-read:
			return false
		}
	}
}

// streamEnded judges the end of a stream that nobody asked for. The service
// ends each of them now and then: another is opened after a moment, in which a
// connection that is gone shows itself. Only an answer that says more ends the
// session.
func (s *session) streamEnded(err error) {
	if !errors.Is(err, io.EOF) && s.over.Err() == nil {
		err = s.judge(flowSource, err)
		if !errors.Is(err, broker.ErrUnreachable) {
			s.end(err)
		}
	}
	select {
	case <-s.done:
	case <-time.After(lossShows):
	}
}
