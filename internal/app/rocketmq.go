package app

import (
	"context"
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rocketmq"
)

func openRocketMQ(ctx context.Context, cfg Config) (Broker, error) {
	// Ignoring it would leave the operator looking in the wrong place.
	if cfg.SharedParked {
		return nil, fmt.Errorf("%w: RocketMQ has no parked topic that is shared: each source has its own", broker.ErrConfig)
	}
	b, err := rocketmq.Open(ctx, rocketmq.Config{URL: cfg.URL, Namespace: cfg.Namespace, Name: cfg.Name})
	if err != nil {
		return nil, err // not a nil *Broker in a Broker that is not nil
	}
	return b, nil
}
