package gcppubsub

import (
	"context"
	"sync/atomic"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// flow is a stream whose server sends no more than the client lets it.
type flow struct {
	pubsubpb.Subscriber_StreamingPullServer
	front *front
	name  string // of the subscription
	most  int
	gone  chan struct{} // closed when the subscription is deleted
	over  chan struct{} // closed when pstest has done with the stream
	first *pubsubpb.StreamingPullRequest

	sending atomic.Int32
}

// StreamingPull implements pubsubpb.SubscriberServer.
func (f *front) StreamingPull(stream pubsubpb.Subscriber_StreamingPullServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	w := &flow{
		Subscriber_StreamingPullServer: stream, front: f, name: first.GetSubscription(), first: first,
		most: int(first.GetMaxOutstandingMessages()), gone: make(chan struct{}), over: make(chan struct{}),
	}
	if !f.attach(w, true) {
		return status.Errorf(codes.NotFound, "subscription %s", w.name)
	}
	defer f.attach(w, false)
	result := make(chan error, 1)
	go func() { result <- f.SubscriberServer.StreamingPull(w) }()
	select {
	case err := <-result:
		close(w.over)
		w.linger()
		return err
	case <-w.gone:
		return status.Errorf(codes.NotFound, "subscription %s", w.name)
	}
}

// linger lets a message still go out that pstest has handed out in the moment
// in which the stream ended: the service ends a stream after what it has sent.
func (w *flow) linger() {
	for quiet := 0; quiet < 5; quiet++ {
		<-time.After(2 * time.Millisecond)
		if w.sending.Load() > 0 {
			quiet = 0
		}
	}
}

func (f *front) attach(w *flow, on bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.subs[w.name]
	switch {
	case s == nil:
		return false
	case on:
		s.streams[w] = true
	default:
		delete(s.streams, w)
	}
	return true
}

// Recv gives the first request again, which the front has read.
func (w *flow) Recv() (*pubsubpb.StreamingPullRequest, error) {
	if r := w.first; r != nil {
		w.first = nil
		return r, nil
	}
	return w.Subscriber_StreamingPullServer.Recv()
}

// Send returns once there is room for another message, so that pstest hands
// out no more than that.
func (w *flow) Send(r *pubsubpb.StreamingPullResponse) error {
	w.sending.Add(1)
	defer w.sending.Add(-1)
	w.front.mu.Lock()
	s := w.front.subs[w.name]
	if s != nil {
		s.handOut(w, r.GetReceivedMessages())
	}
	w.front.mu.Unlock()
	if err := w.Subscriber_StreamingPullServer.Send(r); err != nil || s == nil {
		return err
	}
	return w.room(w.Context(), s)
}

func (w *flow) room(ctx context.Context, s *counted) error {
	for w.most > 0 && w.outstanding(s) >= w.most {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.gone:
			return nil
		case <-w.over:
			return nil
		case <-time.After(2 * time.Millisecond):
		}
	}
	return nil
}

func (w *flow) outstanding(s *counted) (n int) {
	w.front.mu.Lock()
	defer w.front.mu.Unlock()
	for id, o := range s.out {
		if o.to == w && s.live[id] && time.Now().Before(o.until) {
			n++
		}
	}
	return n
}
