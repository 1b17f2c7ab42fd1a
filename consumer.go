package holdfast

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// The defaults of a [ConsumerConfig].
const (
	DefaultPrefetch    = 100
	DefaultConcurrency = 1
	DefaultGrace       = 30 * time.Second

	maxPrefetch = 65535
	maxGrace    = time.Hour
)

// ConsumerConfig says what a consumer does. It is copied, defaulted and
// checked whole by [NewConsumer].
type ConsumerConfig struct {
	// Queue is the queue to consume. It must exist; its declaration is never
	// touched. Required.
	Queue string

	// Handler processes the messages. Required.
	Handler Handler

	// Policy bounds what happens to messages that fail. The zero value is
	// [EventPolicy].
	Policy Policy

	// Prefetch is how many deliveries the broker may have outstanding with
	// this consumer: 1 to 65535. 0 means 100.
	Prefetch int

	// Concurrency is how many handlers may run at once: 1 to Prefetch. 0 means
	// 1, which keeps the queue's order as long as nothing fails.
	Concurrency int

	// Grace is how long running handlers may take to finish once the consumer
	// was told to stop: up to 1 h. 0 means 30 s, negative means none.
	Grace time.Duration

	// Brake stops the consumer before it parks most of what it gets for one
	// cause. The zero value is off.
	Brake Brake

	// Observer is told of every event. It may be nil.
	Observer Observer

	// Tracer follows each attempt. It may be nil.
	Tracer Tracer

	// Name is shown to operators beside the consumer, where the broker shows
	// one. Empty means the driver's choice.
	Name string
}

func (c ConsumerConfig) withDefaults() ConsumerConfig {
	c.Policy = c.Policy.withDefaults()
	c.Prefetch = or(c.Prefetch, DefaultPrefetch)
	c.Concurrency = or(c.Concurrency, DefaultConcurrency)
	c.Grace = or(c.Grace, DefaultGrace)
	c.Brake = c.Brake.withDefaults()
	return c
}

func (c ConsumerConfig) validate() error {
	var errs []error
	if c.Queue == "" {
		errs = append(errs, errors.New("consumer: Queue must be named"))
	}
	if c.Prefetch < 1 || c.Prefetch > maxPrefetch {
		errs = append(errs, fmt.Errorf("consumer: Prefetch must be 1 to %d, not %d", maxPrefetch, c.Prefetch))
	}
	if c.Concurrency < 1 || c.Concurrency > c.Prefetch {
		errs = append(errs, fmt.Errorf("consumer: Concurrency must be 1 to Prefetch (%d), not %d", c.Prefetch, c.Concurrency))
	}
	if c.Grace > maxGrace {
		errs = append(errs, fmt.Errorf("consumer: Grace must be at most %v, not %v", maxGrace, c.Grace))
	}
	return errors.Join(append(errs, c.Brake.validate(), c.Policy.validate())...)
}

// Consumer consumes one queue and deals with what its handler cannot process.
// Its methods may be called concurrently.
type Consumer struct {
	*engine
}

// NewConsumer makes a consumer of b. It checks the configuration and connects
// nothing: that is [Consumer.Run]. Its error is of class [broker.ErrConfig], and
// every line of it names a field, its bound and the value.
func NewConsumer(b broker.Broker, cfg ConsumerConfig) (*Consumer, error) {
	cfg = cfg.withDefaults()
	err := cfg.validate()
	if cfg.Handler == nil {
		err = errors.Join(err, errors.New("consumer: Handler must not be nil"))
	}
	if b == nil {
		err = errors.Join(err, errors.New("consumer: the broker must not be nil"))
	}
	if err != nil {
		return nil, fmt.Errorf("holdfast: %w: %w", broker.ErrConfig, err)
	}
	handler := cfg.Handler
	return &Consumer{newEngine(b, cfg, false, func(ctx context.Context, m *Message) (*Reply, error) {
		return nil, handler(ctx, m)
	})}, nil
}
