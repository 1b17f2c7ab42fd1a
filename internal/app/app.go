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
	URL string

	// Namespace is [DefaultNamespace] when empty.
	Namespace string

	// SharedParked parks into one queue for all sources.
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

// Schemes are the URL schemes that [Open] knows.
func Schemes() []string { return []string{"amqp", "amqps"} }

// Open opens the broker that cfg names.
func Open(ctx context.Context, cfg Config) (Broker, error) {
	scheme, err := schemeOf(cfg.URL)
	if err != nil {
		return nil, err
	}
	switch scheme {
	case "amqp", "amqps":
		return openRabbitMQ(ctx, cfg)
	default:
		return nil, fmt.Errorf("%w: a broker URL begins with one of %s, not with %q",
			broker.ErrConfig, strings.Join(withColon(Schemes()), ", "), scheme+":")
	}
}

// schemeOf reads the scheme and nothing else: the driver reads the rest, and
// an error of net/url would quote the password.
func schemeOf(address string) (string, error) {
	scheme, _, ok := strings.Cut(address, ":")
	if !ok || scheme == "" {
		return "", fmt.Errorf("%w: a broker URL begins with one of %s", broker.ErrConfig, strings.Join(withColon(Schemes()), ", "))
	}
	if _, err := url.Parse(scheme + ":"); err != nil {
		return "", fmt.Errorf("%w: a broker URL begins with one of %s", broker.ErrConfig, strings.Join(withColon(Schemes()), ", "))
	}
	return strings.ToLower(scheme), nil
}

func withColon(schemes []string) []string {
	out := make([]string, len(schemes))
	for i, s := range schemes {
		out[i] = s + "://"
	}
	return out
}
