package brokertest

import (
	"context"
	"maps"
	"reflect"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

var responderCases = []testCase{
	{name: "a_reply_arrives", run: replyArrives, needs: all(replies)},
	{name: "a_reply_that_nobody_awaits_is_an_event", run: replyUnrouted, needs: all(replies)},
	{name: "no_reply_answers_nothing", run: noReply, needs: all(replies)},
	{name: "a_request_without_an_address_is_done", run: noAddress, needs: all(replies)},
	{name: "park_counts_as_a_retry", run: responderParks, needs: all(replies, delays)},
	{name: "a_parked_request_can_be_answered_later", run: answeredLater, needs: all(replies)},
}

// request publishes a request and returns the queue of its replies.
func (s *scene) request(body string) string {
	s.Helper()
	address := s.env.NewQueue(s.T)
	s.env.Publish(s.T, s.queue, &broker.Message{
		Body: []byte(body), ReplyTo: address, CorrelationID: "correlation-" + body,
	})
	return address
}

func (s *scene) respond(h func(ctx context.Context, m *holdfast.Message) (*holdfast.Reply, error)) *running {
	s.Helper()
	r := &running{scene: s, done: make(chan struct{})}
	c, err := holdfast.NewResponder(s.b, holdfast.ResponderConfig{
		Queue: s.queue, Policy: policy(), Observer: r,
		Handler: func(ctx context.Context, m *holdfast.Message) (*holdfast.Reply, error) {
			r.saw(m)
			return h(ctx, m)
		},
	})
	s.must(err)
	r.begin(c)
	return r
}

func echo(_ context.Context, m *holdfast.Message) (*holdfast.Reply, error) {
	return &holdfast.Reply{Body: append([]byte("re: "), m.Body...), ContentType: "text/plain", Type: "answer"}, nil
}

// wantReply checks the one message that waits at address.
func (s *scene) wantReply(address, body string) *broker.Message {
	s.Helper()
	s.eventually("the reply is there", func() bool { return s.waiting(address) > 0 })
	list := s.stored(address)
	m := list[0].Message
	if len(list) != 1 || string(m.Body) != "re: "+body || m.CorrelationID != "correlation-"+body {
		s.Errorf("%d replies, %q, correlation id %q", len(list), m.Body, m.CorrelationID)
	}
	return m
}

func replyArrives(s *scene) {
	address := s.request("a")
	r := s.respond(func(ctx context.Context, m *holdfast.Message) (*holdfast.Reply, error) {
		reply, err := echo(ctx, m)
		reply.Headers = maps.Clone(s.env.Headers)
		return reply, err
	})
	r.awaitTold(holdfast.EventDone, 1)
	m := s.wantReply(address, "a")
	if m.ContentType != "text/plain" || m.Type != "answer" {
		s.Errorf("content type %q, type %q", m.ContentType, m.Type)
	}
	for name, value := range s.env.Headers {
		if !reflect.DeepEqual(m.Headers[name], value) {
			s.Errorf("header %q is %v, not %v", name, m.Headers[name], value)
		}
	}
	r.stop()
	s.ends(0)
}

func replyUnrouted(s *scene) {
	s.env.Publish(s.T, s.queue, &broker.Message{Body: []byte("a"), ReplyTo: s.queue + "-nobody", CorrelationID: "1"})
	r := s.respond(echo)
	r.awaitTold(holdfast.EventReplyLost, 1)
	r.awaitTold(holdfast.EventDone, 1)
	if books := r.stop(); books.Done != 1 || books.Received != 1 {
		s.Errorf("books %+v", books)
	}
	s.ends(0)
}

func noReply(s *scene) {
	address := s.request("a")
	r := s.respond(func(context.Context, *holdfast.Message) (*holdfast.Reply, error) { return nil, nil })
	r.awaitTold(holdfast.EventDone, 1)
	r.stop()
	if n := s.waiting(address); n != 0 {
		s.Errorf("%d replies", n)
	}
	s.ends(0)
}

func noAddress(s *scene) {
	s.publish("a")
	r := s.respond(echo)
	r.awaitTold(holdfast.EventReplyLost, 1)
	r.awaitTold(holdfast.EventDone, 1)
	r.stop()
	s.ends(0)
}

func responderParks(s *scene) {
	address := s.request("a")
	n := 0
	r := s.respond(func(ctx context.Context, m *holdfast.Message) (*holdfast.Reply, error) {
		n++ // one handler at a time
		if n == 1 {
			return nil, holdfast.Park(errFail)
		}
		return echo(ctx, m)
	})
	r.awaitTold(holdfast.EventNotForReply, 1)
	r.awaitTold(holdfast.EventDone, 1)
	if calls := r.seen(); len(calls) != 2 || calls[1].m.Attempt != 2 {
		s.Errorf("%d calls", len(calls))
	}
	s.wantReply(address, "a")
	r.stop()
	s.ends(0)
}

func answeredLater(s *scene) {
	address := s.request("a")
	r := s.respond(func(context.Context, *holdfast.Message) (*holdfast.Reply, error) { return nil, errFail })
	m := s.one()
	s.wantReason(m, broker.ReasonExhausted)
	if m.Message.ReplyTo != address || m.Message.CorrelationID != "correlation-a" {
		s.Errorf("reply-to %q, correlation id %q", m.Message.ReplyTo, m.Message.CorrelationID)
	}
	r.stop()
	sifted := s.sift(s.env.Parked(s.queue), broker.SiftOptions{}, func(*broker.Stored) broker.Action {
		return broker.Action{Verb: broker.VerbReply, Reply: &broker.Reply{Body: []byte("re: a")}}
	})
	if sifted.Replied != 1 {
		s.Errorf("sifted %+v", sifted)
	}
	s.wantReply(address, "a")
	s.ends(0)
}
