package holdfast_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
)

type responderTrial struct {
	*testing.T
	broker *membroker.Broker
	r      *holdfast.Responder

	mu    sync.Mutex
	kinds map[holdfast.EventKind]int
}

func respond(t *testing.T, policy holdfast.Policy, handler func(context.Context, *holdfast.Message) (*holdfast.Reply, error), f func(*responderTrial), opts ...membroker.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr := &responderTrial{T: t, broker: membroker.New(opts...), kinds: map[holdfast.EventKind]int{}}
		tr.broker.DeclareQueue(queue)
		tr.broker.DeclareQueue("caller")
		r, err := holdfast.NewResponder(tr.broker, holdfast.ResponderConfig{
			Queue: queue, Handler: handler, Policy: policy,
			Observer: holdfast.ObserverFunc(func(e holdfast.Event) {
				tr.mu.Lock()
				defer tr.mu.Unlock()
				tr.kinds[e.Kind]++
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		tr.r = r
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		f(tr)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if b := r.Books(); !b.Balanced() || b.InFlight != 0 {
			t.Errorf("books: %+v", b)
		}
		_ = tr.broker.Close()
	})
}

func (tr *responderTrial) ask(replyTo string) {
	tr.Helper()
	m := &broker.Message{ID: "q", Body: []byte("?"), ReplyTo: replyTo, CorrelationID: "c-1"}
	if err := tr.broker.Publish(tr.Context(), broker.Target{Queue: queue}, m); err != nil {
		tr.Fatal(err)
	}
	<-time.After(time.Minute)
	synctest.Wait()
}

func answer(context.Context, *holdfast.Message) (*holdfast.Reply, error) {
	return &holdfast.Reply{Body: []byte("!")}, nil
}

func TestResponderAnswers(t *testing.T) {
	t.Parallel()
	respond(t, holdfast.Policy{}, answer, func(tr *responderTrial) {
		tr.ask("caller")
		got := tr.broker.Messages("caller")
		if len(got) != 1 || string(got[0].Message.Body) != "!" || got[0].Message.CorrelationID != "c-1" {
			tr.Errorf("the caller got %+v", got)
		}
	})
}

func TestResponderWhoseCallerIsGone(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"nobody", ""} {
		respond(t, holdfast.Policy{}, answer, func(tr *responderTrial) {
			tr.ask(address)
			if b := tr.r.Books(); b.Done != 1 || tr.kinds[holdfast.EventReplyLost] != 1 {
				tr.Errorf("books %+v, events %v", b, tr.kinds)
			}
		})
	}
}

func TestResponderParkIsARetry(t *testing.T) {
	t.Parallel()
	handler := func(context.Context, *holdfast.Message) (*holdfast.Reply, error) {
		return nil, holdfast.Park(errors.New("no"))
	}
	respond(t, holdfast.Policy{}, handler, func(tr *responderTrial) {
		tr.ask("caller")
		b := tr.r.Books()
		if b.Delayed != 4 || b.Parked != 1 || tr.kinds[holdfast.EventNotForReply] != 5 {
			tr.Errorf("books %+v, events %v", b, tr.kinds)
		}
		p := tr.broker.Messages(queue + ".parked")
		if len(p) != 1 || p[0].Message.ReplyTo != "caller" || p[0].Message.CorrelationID != "c-1" || p[0].Capture.Reason != holdfast.ReasonExhausted {
			tr.Errorf("parked %+v", p)
		}
	})
}

func TestAReplyThatCanNeverBeSentIsAFailedAttempt(t *testing.T) {
	t.Parallel()
	respond(t, short(), answer, func(tr *responderTrial) {
		tr.ask("caller")
		p := tr.broker.Messages(queue + ".parked")
		if b := tr.r.Books(); b.Delayed != 1 || b.Parked != 1 || len(p) != 1 || !strings.Contains(p[0].Capture.Error, "not supported") {
			tr.Errorf("books %+v, parked %+v", b, p)
		}
	}, membroker.WithoutReplies)
}

func TestResponderConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	_, err := holdfast.NewResponder(nil, holdfast.ResponderConfig{})
	for _, want := range []string{"broker must not be nil", "Queue must be named", "Handler must not be nil"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}
