package awssqs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Broker is SQS in one region, as one identity sees it. It may be used from
// many goroutines at once.
type Broker struct {
	conf   Config
	names  names
	client *client

	mu       sync.Mutex
	closed   bool
	urls     map[string]string // of queues that are given by name
	sessions map[*session]bool
}

var (
	_ broker.Broker    = (*Broker)(nil)
	_ broker.Sifter    = (*Broker)(nil)
	_ broker.Publisher = (*Broker)(nil)
	_ broker.Places    = (*Broker)(nil)
)

// Open checks conf and asks SQS for nothing: a service that is down, or
// credentials that are refused, are the first session's error. An error is of
// class [broker.ErrConfig] and has one line for each fault.
func Open(ctx context.Context, conf Config) (*Broker, error) {
	conf = conf.withDefaults()
	if err := conf.check(); err != nil {
		return nil, err
	}
	c, err := newClient(ctx, conf)
	if err != nil {
		return nil, err
	}
	return &Broker{
		conf: conf, names: names{conf.Namespace, conf.ParkedSuffix, conf.HoldSuffix}, client: c,
		urls: map[string]string{}, sessions: map[*session]bool{},
	}, nil
}

// Open implements [broker.Broker].
func (b *Broker) Open(ctx context.Context, sub broker.Subscription) (broker.Session, error) {
	if err := b.checkSubscription(sub); err != nil {
		return nil, err
	}
	if err := b.live(); err != nil {
		return nil, err
	}
	f, err := b.find(ctx, sub.Queue)
	if err != nil {
		if errors.Is(err, broker.ErrMissing) {
			b.forget(sub.Queue)
			err = fmt.Errorf("%w; its owner makes it, as with: aws sqs create-queue --queue-name %s", err, nameOf(sub.Queue))
		}
		return nil, err
	}
	urls := map[string]string{sub.Queue: f.url}
	for _, place := range []string{b.names.parkedOf(sub.Queue), b.names.holdOf(sub.Queue)} {
		if err := b.ensure(ctx, &f, place); err != nil {
			return nil, err
		}
		if urls[place], err = b.urlOf(ctx, place); err != nil {
			return nil, err
		}
	}
	s := newSession(b, sub, f, urls)
	if !b.add(s) {
		s.end(broker.ErrClosed)
		return nil, fmt.Errorf("awssqs: %w", broker.ErrClosed)
	}
	for _, text := range f.warnings {
		s.warn(text)
	}
	s.start()
	return s, nil
}

func (b *Broker) checkSubscription(sub broker.Subscription) error {
	if err := b.names.checkQueue(sub.Queue); err != nil {
		return err
	}
	for _, rung := range sub.Rungs {
		if rung < time.Millisecond || rung > longestHidden {
			return fmt.Errorf("%w: awssqs: Subscription.Rungs must be 1ms to %v, not %v", broker.ErrConfig, longestHidden, rung)
		}
	}
	return nil
}

func (b *Broker) live() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return fmt.Errorf("awssqs: %w", broker.ErrClosed)
	}
	return nil
}

// urlOf asks for the URL of a queue once: it stays the same when the queue is
// made again.
func (b *Broker) urlOf(ctx context.Context, queue string) (string, error) {
	b.mu.Lock()
	url := b.urls[queue]
	b.mu.Unlock()
	if url != "" {
		return url, nil
	}
	url, err := b.client.url(ctx, queue)
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.urls[queue] = url
	return url, nil
}

func (b *Broker) forget(queue string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.urls, queue)
}

// Close implements [broker.Broker].
func (b *Broker) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	sessions := slices.Collect(maps.Keys(b.sessions))
	b.mu.Unlock()
	for _, s := range sessions {
		s.end(broker.ErrClosed)
	}
	for _, s := range sessions {
		s.work.Wait()
	}
	return nil
}

func (b *Broker) add(s *session) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.sessions[s] = true
	return true
}

func (b *Broker) remove(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sessions, s)
}

// ParkedPlace implements [broker.Places].
func (b *Broker) ParkedPlace(queue string) (name string, shared bool) {
	return b.names.parkedOf(queue), false
}

// HoldPlace implements [broker.Places].
func (b *Broker) HoldPlace(queue string) string { return b.names.holdOf(queue) }
