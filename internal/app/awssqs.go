package app

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/awssqs"
)

const sqsForm = "sqs:REGION or sqs:REGION?endpoint=https://HOST"

// openSQS opens the driver for Amazon SQS. The address has no credentials: they
// come from the environment, the shared files or the role of the machine, and
// so does a region that is not given.
func openSQS(ctx context.Context, cfg Config) (Broker, error) {
	if cfg.SharedParked {
		return nil, fmt.Errorf("%w: SQS has no parked queue that is shared: each source has its own beside it", broker.ErrConfig)
	}
	conf, err := sqsConfig(cfg)
	if err != nil {
		return nil, err
	}
	b, err := awssqs.Open(ctx, conf)
	if err != nil {
		return nil, err // not a nil *Broker in a Broker that is not nil
	}
	return b, nil
}

// sqsConfig reads the address. The names of the queues beside a source begin
// with the namespace where it is not the default one, which would say nothing:
// they stand beside their source.
func sqsConfig(cfg Config) (awssqs.Config, error) {
	_, address, _ := strings.Cut(cfg.URL, ":")
	region, query, _ := strings.Cut(strings.TrimPrefix(address, "//"), "?")
	settings, err := url.ParseQuery(query)
	if err != nil || strings.ContainsAny(region, "/@:") {
		return awssqs.Config{}, fmt.Errorf("%w: the URL of SQS is %s (what is given is not shown, since it may hold a password)", broker.ErrConfig, sqsForm)
	}
	for name := range settings {
		if name != "endpoint" {
			return awssqs.Config{}, fmt.Errorf("%w: the URL of SQS is %s, and knows no %.40q", broker.ErrConfig, sqsForm, name)
		}
	}
	conf := awssqs.Config{Region: region, Endpoint: settings.Get("endpoint")}
	if cfg.Namespace != DefaultNamespace {
		conf.Namespace = cfg.Namespace
	}
	return conf, nil
}
