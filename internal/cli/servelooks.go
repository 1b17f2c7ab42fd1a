package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/internal/app"
)

// serveLooks say what serve looks at.
type serveLooks struct {
	management managementFlags
	store      storeFlags
	prometheus string
	queues     []string
}

func (f *serveLooks) add(cmd *cobra.Command) {
	f.management.add(cmd)
	f.store.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.prometheus, "prometheus", "", "look at this Prometheus, too, by its `URL`")
	flags.StringSliceVar(&f.queues, "queue", nil, "what a service consumes (repeatable): its permissions and places are looked at, too; on a broker that is no RabbitMQ, what to look at")
}

// config reads what to look at: a broker, a management API, or both. A database
// is looked at where one is named.
func (f *serveLooks) config(r *root) (app.GatherConfig, error) {
	var cfg app.GatherConfig
	broker, none := r.config(false)
	var err error
	if cfg.Management, cfg.VHost, err = f.management.address(r, broker.URL); err != nil {
		return cfg, err
	}
	if cfg.Management == "" && none != nil {
		return cfg, none
	}
	cfg.Broker = broker
	cfg.Broker.Namespace, cfg.Broker.Name = r.namespace, "holdfast serve"
	if store, err := f.store.config(r); err == nil {
		cfg.Store = store
	}
	cfg.Prometheus, cfg.Service.Queues = f.prometheus, f.queues
	cfg.Open, cfg.OpenStore = r.Open, r.OpenStore
	return cfg, nil
}

// examine makes the look of a lookout of what cfg names.
func examine(cfg app.GatherConfig) func(context.Context, *management.Snapshot) (*doctor.Facts, error) {
	return func(ctx context.Context, before *management.Snapshot) (*doctor.Facts, error) {
		cfg := cfg
		cfg.Before = before
		return app.Gather(ctx, cfg)
	}
}
