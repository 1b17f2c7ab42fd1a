package holdfast

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Reply is a responder's answer.
type Reply = broker.Reply

// ResponderConfig says what a responder does. Its fields mean what those of
// [ConsumerConfig] mean, but for Handler and Policy.
type ResponderConfig struct {
	// Queue is the queue of requests. Required.
	Queue string

	// Handler answers one request. With a nil error its reply is published,
	// confirmed, to the request's reply address, and then the request is done;
	// a nil reply answers nothing. A reply that no queue takes (the caller is
	// gone) is an event and the request is done. Errors mean what they mean to
	// a [Handler], except that Park counts as a retry: a caller waits.
	// Required.
	Handler func(ctx context.Context, m *Message) (*Reply, error)

	// Policy is [RequestPolicy] where it has no ladder of its own.
	Policy Policy

	Prefetch    int
	Concurrency int
	Grace       time.Duration
	Observer    Observer
	Name        string
}

// Responder consumes requests and answers them. A request whose ladder is
// spent is parked with its reply address and correlation id: its caller gets
// no answer by itself, and an operator can still give one (holdfast answer).
// Its methods may be called concurrently.
type Responder struct {
	*engine
}

// NewResponder makes a responder of b. Like [NewConsumer] it connects nothing.
func NewResponder(b broker.Broker, cfg ResponderConfig) (*Responder, error) {
	if cfg.Policy.Ladder == nil {
		cfg.Policy.Ladder = RequestPolicy().Ladder
	}
	base := ConsumerConfig{
		Queue: cfg.Queue, Policy: cfg.Policy, Prefetch: cfg.Prefetch, Concurrency: cfg.Concurrency,
		Grace: cfg.Grace, Observer: cfg.Observer, Name: cfg.Name,
	}.withDefaults()
	err := base.validate()
	if cfg.Handler == nil {
		err = errors.Join(err, errors.New("responder: Handler must not be nil"))
	}
	if b == nil {
		err = errors.Join(err, errors.New("responder: the broker must not be nil"))
	}
	if err != nil {
		return nil, fmt.Errorf("holdfast: %w: %w", broker.ErrConfig, err)
	}
	return &Responder{newEngine(b, base, true, cfg.Handler)}, nil
}
