package app

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/gcppubsub"
)

const pubsubForm = "gcppubsub:PROJECT or gcppubsub:PROJECT?mode=streaming&endpoint=HOST:PORT or gcppubsub:PROJECT?emulator=HOST:PORT"

// openPubSub opens the driver for Google Pub/Sub. The address has no
// credentials: they are the application default credentials of the machine.
func openPubSub(ctx context.Context, cfg Config) (Broker, error) {
	if cfg.SharedParked {
		return nil, fmt.Errorf("%w: Pub/Sub has no parked subscription that is shared: each source has its own beside it", broker.ErrConfig)
	}
	conf, err := pubsubConfig(cfg)
	if err != nil {
		return nil, err
	}
	b, err := gcppubsub.Open(ctx, conf)
	if err != nil {
		return nil, err // not a nil *Broker in a Broker that is not nil
	}
	return b, nil
}

// pubsubConfig reads the address. The names of the places of a source begin
// with the namespace where it is not the default one, which would say nothing:
// they stand beside their source.
func pubsubConfig(cfg Config) (gcppubsub.Config, error) {
	_, address, _ := strings.Cut(cfg.URL, ":")
	project, query, _ := strings.Cut(strings.TrimPrefix(address, "//"), "?")
	settings, err := url.ParseQuery(query)
	if err != nil || strings.Contains(project, "@") {
		return gcppubsub.Config{}, fmt.Errorf("%w: the URL of Pub/Sub is %s (what is given is not shown, since it may hold a password)", broker.ErrConfig, pubsubForm)
	}
	conf := gcppubsub.Config{Project: strings.TrimSuffix(project, "/"), Name: cfg.Name}
	for name, values := range settings {
		switch name {
		case "mode":
			conf.Mode = gcppubsub.Mode(values[0])
		case "endpoint":
			conf.Endpoint = values[0]
		case "emulator":
			conf.Emulator = values[0]
		default:
			return gcppubsub.Config{}, fmt.Errorf("%w: the URL of Pub/Sub is %s, and knows no %.40q", broker.ErrConfig, pubsubForm, name)
		}
	}
	if cfg.Namespace != DefaultNamespace {
		conf.Namespace = cfg.Namespace
	}
	return conf, nil
}
