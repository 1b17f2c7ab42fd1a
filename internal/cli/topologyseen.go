package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/topology"
)

// topologyFlags say which virtual host is looked at, and where: on a broker, or
// in a file of definitions.
type topologyFlags struct {
	management  managementFlags
	definitions string
	vhost       string
}

func (f *topologyFlags) add(cmd *cobra.Command) {
	f.management.addURL(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.definitions, "definitions", "", "read a `FILE` of rabbitmqctl export_definitions, and ask no broker")
	flags.StringVar(&f.vhost, "vhost", "", "the virtual `HOST`; default that of the broker's URL, / of a file")
}

// seen is one virtual host as a broker or a file has it.
type seen struct {
	vhost    string
	topology topology.Topology
	rules    topology.Rules
}

func (r *root) seen(ctx context.Context, f *topologyFlags) (seen, error) {
	if f.definitions != "" {
		return f.defined()
	}
	return r.live(ctx, f)
}

func (f *topologyFlags) defined() (seen, error) {
	s := seen{vhost: f.vhost, rules: topology.RulesOf("")}
	if s.vhost == "" {
		s.vhost = "/"
	}
	text, err := os.ReadFile(f.definitions)
	if err != nil {
		return seen{}, &usageError{err}
	}
	if s.topology, err = topology.ParseDefinitions(text, s.vhost); err != nil {
		return seen{}, &usageError{fmt.Errorf("%s: %w", f.definitions, err)}
	}
	return s, nil
}

func (r *root) live(ctx context.Context, f *topologyFlags) (seen, error) {
	cfg, _ := r.config(false) // without a broker's URL that of the API may do
	address, vhost, err := f.management.address(r, cfg.URL)
	if err != nil {
		return seen{}, err
	}
	if f.vhost != "" {
		vhost = f.vhost
	}
	if address == "" || vhost == "" {
		return seen{}, usagef("a topology is that of one virtual host of a RabbitMQ: give its URL by --broker, or --management with --vhost, or --definitions")
	}
	client, err := management.New(management.Config{URL: address, VHost: vhost})
	if err != nil {
		return seen{}, err
	}
	s, err := client.Snapshot(ctx)
	if err != nil {
		return seen{}, err
	}
	t := doctor.Topologies(s)[vhost]
	if t == nil {
		return seen{}, usagef("there is no virtual host %q, or this user may not see it", vhost)
	}
	return seen{vhost: vhost, topology: *t, rules: topology.RulesOf(s.Overview.Version)}, nil
}
