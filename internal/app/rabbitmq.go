package app

import (
	"context"

	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
)

func openRabbitMQ(ctx context.Context, cfg Config) (Broker, error) {
	b, err := rabbitmq.Open(ctx, rabbitmq.Config{
		URL: cfg.URL, Namespace: cfg.Namespace, SharedParked: cfg.SharedParked, Name: cfg.Name,
	})
	if err != nil {
		return nil, err // not a nil *Broker in a Broker that is not nil
	}
	return b, nil
}
