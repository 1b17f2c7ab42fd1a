package app

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/jetstream"
)

// openJetStream opens the driver on the server of cfg.URL or, where there is
// one, on the server in this process.
func openJetStream(ctx context.Context, cfg Config, inProcess nats.InProcessConnProvider) (*jetstream.Broker, error) {
	// Ignoring it would leave the operator looking in the wrong place.
	if cfg.SharedParked {
		return nil, fmt.Errorf("%w: JetStream has no parked queue that is shared: the parked messages of all sources are in one stream already, and each source has its own place in it",
			broker.ErrConfig)
	}
	return jetstream.Open(ctx, jetstream.Config{
		URL: cfg.URL, InProcess: inProcess, Namespace: cfg.Namespace, Name: cfg.Name,
	})
}
