package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/internal/app"
)

// examineFlags say what the doctor looks at.
type examineFlags struct {
	management managementFlags
	store      storeFlags
	prometheus string
	manifests  []string
	observe    time.Duration

	queues []string
	ladder string
	shared bool
	pwFile string
	pwEnv  string
}

func (f *examineFlags) add(cmd *cobra.Command) {
	f.management.add(cmd)
	f.store.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.prometheus, "prometheus", "", "also look at this Prometheus, by its `URL`; default $HOLDFAST_PROMETHEUS")
	flags.StringSliceVar(&f.manifests, "manifest", nil, "also look at what a service says of itself in `FILE` (holdfast topology; repeatable)")
	flags.DurationVar(&f.observe, "observe", app.DefaultObserve, "the time between two looks at RabbitMQ, from which standing still and growth are told; 0 is one look")
	flags.StringSliceVar(&f.queues, "queue", nil, "what the service consumes that logs in as the broker's URL says (repeatable): what it will declare and use is looked at, too; on a broker that is no RabbitMQ, what to look at")
	flags.StringVar(&f.ladder, "ladder", "", "that service's delays between attempts, as 1s,10s,30s,90s (the default), or none")
	flags.BoolVar(&f.shared, "shared", false, "that service parks in the queue that all share, <namespace>.parked")
	flags.StringVar(&f.pwFile, "password-file", "", "the second place where the service's password is kept, alone or in an AMQP URL: a `FILE`. It is compared with that of the broker's URL; neither is printed")
	flags.StringVar(&f.pwEnv, "password-env", "", "the same in the environment variable `NAME`")
	cmd.MarkFlagsMutuallyExclusive("password-file", "password-env")
}

func (f *examineFlags) config(r *root) (app.GatherConfig, error) {
	c := app.GatherConfig{
		Manifests: f.manifests, Observe: f.observe, Heads: true, Open: r.Open, OpenStore: r.OpenStore,
		Prometheus: strings.TrimSpace(orText(f.prometheus, r.Getenv("HOLDFAST_PROMETHEUS"))),
	}
	if f.observe < 0 {
		return c, usagef("--observe is the time between two looks, not %v", f.observe)
	}
	// No broker and no store are no mistakes here: which sources there are is
	// for the caller to say.
	c.Broker, _ = r.config(f.shared)
	c.Broker.Namespace, c.Broker.SharedParked = r.namespace, f.shared
	c.Store, _ = f.store.config(r)
	var err error
	if c.Management, c.VHost, err = f.management.address(r, c.Broker.URL); err != nil {
		return c, err
	}
	c.Service, err = f.service(r)
	return c, err
}

func (f *examineFlags) service(r *root) (app.ServiceConfig, error) {
	s := app.ServiceConfig{Queues: f.queues}
	if slices.Contains(f.queues, "") {
		return s, usagef("--queue is the name of a queue, and not empty")
	}
	var err error
	if s.Rungs, err = (&consumeFlags{ladder: f.ladder}).parseLadder(); err != nil {
		return s, err
	}
	switch {
	case f.pwFile != "":
		s.Stored = func() (string, error) {
			content, err := os.ReadFile(f.pwFile)
			return string(content), err
		}
	case f.pwEnv != "":
		s.Stored = func() (string, error) {
			if value := r.Getenv(f.pwEnv); value != "" {
				return value, nil
			}
			return "", fmt.Errorf("the environment variable %s is not set", f.pwEnv)
		}
	}
	if s.Stored != nil {
		if _, err := s.Stored(); err != nil {
			return s, &usageError{err}
		}
	}
	return s, nil
}
