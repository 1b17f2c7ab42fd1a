package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/jetstream"
	"github.com/holdfast-mq/holdfast/internal/embedded"
)

// embeddedWait is enough for a folder of many million messages to be read
// again after a kill.
const embeddedWait = time.Minute

// embeddedBroker is the driver and the server that it is alone on.
type embeddedBroker struct {
	*jetstream.Broker
	server *embedded.Server
}

// Close ends the driver's connections before their server.
func (b *embeddedBroker) Close() error {
	return errors.Join(b.Broker.Close(), b.server.Close())
}

func openEmbedded(ctx context.Context, cfg Config) (Broker, error) {
	dir, o, err := parseEmbedded(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", broker.ErrConfig, err)
	}
	o.Wait, o.Logger = embeddedWait, slog.Default()
	server, err := embedded.Start(dir, o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", broker.ErrUnreachable, err)
	}
	cfg.URL = ""
	b, err := openJetStream(ctx, cfg, server)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &embeddedBroker{b, server}, nil
}

// parseEmbedded reads embedded:DIR?listen=127.0.0.1:4222&sync=always. It is no
// URL to net/url: the folder is what follows the colon, as it is written, up
// to the question mark.
func parseEmbedded(address string) (dir string, o embedded.Options, err error) {
	_, rest, _ := strings.Cut(address, ":")
	dir, query, _ := strings.Cut(rest, "?")
	if dir == "" || strings.HasPrefix(dir, "//") {
		return "", o, errors.New("the embedded broker's folder is written embedded:DIR, with one slash or none")
	}
	options, err := url.ParseQuery(query)
	if err != nil {
		return "", o, errors.New("what follows the ? of embedded:DIR cannot be read")
	}
	for name, values := range options {
		switch {
		case name == "listen":
			o.Listen = values[0]
		case name == "sync" && values[0] == "always":
			o.SyncAlways = true
		case name == "sync":
			return "", o, errors.New("the option sync of embedded:DIR must be always")
		default:
			return "", o, fmt.Errorf("embedded:DIR has the options listen and sync, and none that is called %q", name)
		}
	}
	return dir, o, o.Check()
}
