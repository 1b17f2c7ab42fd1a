package membroker

import (
	"context"
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

// Publish implements [broker.Publisher].
func (b *Broker) Publish(ctx context.Context, target broker.Target, m *broker.Message) error {
	return b.whenUnblocked(ctx, func() error {
		return b.server.publish(newEntry(m, target), target)
	})
}

// whenUnblocked calls publish under the lock as soon as publishes are accepted.
func (b *Broker) whenUnblocked(ctx context.Context, publish func() error) error {
	for {
		blocked, err := b.tryPublish(ctx, publish)
		if blocked == nil {
			return err
		}
		select {
		case <-blocked:
		case <-ctx.Done():
			return fmt.Errorf("membroker: publishes are blocked: %w", ctx.Err())
		}
	}
}

func (b *Broker) tryPublish(ctx context.Context, publish func() error) (blocked <-chan struct{}, err error) {
	b.server.lock()
	defer b.server.unlock()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	if b.server.faults.unblocked != nil {
		return b.server.faults.unblocked, nil
	}
	return nil, publish()
}
