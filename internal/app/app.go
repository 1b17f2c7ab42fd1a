// Package app turns a configuration into a broker. It is the only package that
// imports the drivers.
package app

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

// DefaultNamespace begins the names of what the consumers of a broker share.
const DefaultNamespace = "holdfast"

// Config says which broker, and how its queues are named.
type Config struct {
	// URL is the broker's address with its credentials. It is never printed.
	// embedded:DIR is a broker in this process that keeps everything in the
	// folder DIR; with ?listen=127.0.0.1:4222 other processes can use it, and
	// with ?sync=always a power loss costs nothing.
	URL string

	// Namespace is [DefaultNamespace] when empty.
	Namespace string

	// SharedParked parks into one queue for all sources. JetStream, which has
	// one stream for that in any case, refuses it.
	SharedParked bool

	// Name is shown to operators beside the connection.
	Name string
}

// Broker is all that the command line needs of a driver.
type Broker interface {
	broker.Broker
	broker.Sifter
	broker.Publisher
	broker.Places
}

// forms are how the URLs begin that [Open] knows.
const forms = "amqp://, amqps://, nats://, tls://, embedded:DIR, sqs:REGION, gcppubsub:PROJECT, rocketmq://"

// Open opens the broker that cfg names. Only the embedded one is started by
// it; to the others it connects when they are used.
func Open(ctx context.Context, cfg Config) (Broker, error) {
	scheme, err := schemeOf(cfg.URL)
	if err != nil {
		return nil, err
	}
	switch scheme {
	case "amqp", "amqps":
		return openRabbitMQ(ctx, cfg)
	case "nats", "tls":
		b, err := openJetStream(ctx, cfg, nil)
		if err != nil {
			return nil, err // not a nil *Broker in a Broker that is not nil
		}
		return b, nil
	case "embedded":
		return openEmbedded(ctx, cfg)
	case "sqs":
		return openSQS(ctx, cfg)
	case "gcppubsub":
		return openPubSub(ctx, cfg)
	case "rocketmq":
		return openRocketMQ(ctx, cfg)
	default:
		return nil, fmt.Errorf("%w: a broker URL begins with one of %s, not with %q", broker.ErrConfig, forms, scheme+":")
	}
}

// schemeOf reads the scheme and nothing else: the driver reads the rest, and
// an error of net/url would quote the password.
func schemeOf(address string) (string, error) {
	scheme, _, ok := strings.Cut(address, ":")
	if !ok || scheme == "" {
		return "", fmt.Errorf("%w: a broker URL begins with one of %s", broker.ErrConfig, forms)
	}
	if _, err := url.Parse(scheme + ":"); err != nil {
		return "", fmt.Errorf("%w: a broker URL begins with one of %s", broker.ErrConfig, forms)
	}
	return strings.ToLower(scheme), nil
}
