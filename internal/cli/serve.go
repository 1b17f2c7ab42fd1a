package cli

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/internal/app"
)

const (
	defaultServeAddress = "127.0.0.1:9464"
	defaultServeEvery   = 30 * time.Second
	minServeEvery       = time.Second
	maxServeEvery       = time.Hour
)

type serveFlags struct {
	address string
	remote  bool
	every   time.Duration
	looks   serveLooks
	log     logFlags
}

func newServe(r *root) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Watch a broker and a database: metrics, health and findings over HTTP",
		Long: "Serve looks at a broker again and again, as holdfast doctor does once, and at a database and\n" +
			"a Prometheus where they are given, and serves what it sees:\n\n" +
			"  /metrics       for a Prometheus: queues by role, parked ages, alarms, findings by check\n" +
			"  /findings      the doctor's last report, as JSON\n" +
			"  /health/live   200 while it works\n" +
			"  /health/ready  200 while the broker can be looked at; /health is the same\n\n" +
			"A broker that is down is holdfast_broker_up 0, and no reason to end. Nobody is asked who he is,\n" +
			"so that it listens on this machine only, unless --allow-remote says otherwise.\n\n" +
			"The first SIGINT or SIGTERM stops it gracefully, the second at once.",
		Example: "  holdfast serve --management http://monitor:password@rabbit:15672\n  holdfast serve --store postgres://… --listen 127.0.0.1:9500",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), r) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.address, "listen", defaultServeAddress, "serve on this `ADDRESS`")
	flags.BoolVar(&f.remote, "allow-remote", false, "listen on an address that other machines can reach: whoever reaches it sees the names of queues and what is wrong with them")
	flags.DurationVar(&f.every, "every", defaultServeEvery, "how often to look: 1s to 1h")
	f.looks.add(cmd)
	f.log.add(cmd)
	return cmd
}

func (f *serveFlags) run(ctx context.Context, r *root) error {
	logger, err := f.log.logger(r)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	cfg, err := f.looks.config(r)
	if err != nil {
		return err
	}
	m, err := newMetrics()
	if err != nil {
		return err
	}
	defer m.close()
	lookout := app.LookoutConfig{Every: f.every, Logger: logger, Examine: examine(cfg)}
	if cfg.Broker.URL != "" {
		heads, err := r.Open(ctx, cfg.Broker)
		if err != nil {
			return err
		}
		defer func() { _ = heads.Close() }()
		lookout.Heads, lookout.VHost = heads, app.VHostOf(cfg.Broker.URL)
	}
	if cfg.Store.URL != "" {
		s := &app.LateStore{Open: func(ctx context.Context) (app.Store, error) { return r.OpenStore(ctx, cfg.Store) }}
		defer s.Close()
		m.watchStore(s)
	}
	return f.serve(ctx, app.NewLookout(lookout), m, logger)
}

func (f *serveFlags) serve(ctx context.Context, l *app.Lookout, m *metrics, logger *slog.Logger) error {
	m.WatchBroker(l.Look)
	server, err := startServer("--listen", f.address, l.Handler(m.endpoint), logger)
	if err != nil {
		return &usageError{err}
	}
	defer server.stop()
	return l.Run(ctx)
}

func (f *serveFlags) check() error {
	if f.every < minServeEvery || f.every > maxServeEvery {
		return usagef("--every is %v to %v, not %v", minServeEvery, maxServeEvery, f.every)
	}
	if f.remote {
		return nil
	}
	host, _, err := net.SplitHostPort(f.address)
	if err != nil {
		return usagef("--listen is an address with a port, as %s, not %q", defaultServeAddress, f.address)
	}
	if !loopback(host) {
		return usagef("--listen %s can be reached from other machines, and nobody is asked who he is there: give an address of this machine, as %s, or --allow-remote", f.address, defaultServeAddress)
	}
	return nil
}

// loopback does not ask a resolver: what a name means may change between the
// check and the listening.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
