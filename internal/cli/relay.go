package cli

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/outbox"
)

type relayFlags struct {
	store  storeFlags
	relay  outbox.RelayConfig
	reaper outbox.ReaperConfig

	leave    []string
	leaveAll bool
	health   string
	idle     time.Duration
	log      logFlags
}

func newRelay(r *root) *cobra.Command {
	var f relayFlags
	cmd := &cobra.Command{
		Use:   "relay",
		Short: "Publish the rows of an outbox, and fail those that nobody can say anything of",
		Long: "Relay publishes what services have written to an outbox: confirmed and routed, in order per\n" +
			"key, for as long as it runs. Any number of relays may work on one outbox. A broker or a\n" +
			"database that is down is waited for; a row fails only for its own fault.\n\n" +
			"After a crash nobody can say whether a row was published. By default it is published again,\n" +
			"marked as a repetition; with --leave it is left for a human, and failed after --fail-after\n" +
			"with a text that says so (holdfast outbox stuck, rearm).\n\n" +
			"The first SIGINT or SIGTERM stops it gracefully, the second at once.",
		Example: "  holdfast relay\n  holdfast relay --leave payments --health-addr 127.0.0.1:9001",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), r) },
	}
	f.store.add(cmd)
	flags, c, p := cmd.Flags(), &f.relay, &f.reaper
	flags.StringSliceVar(&f.leave, "leave", nil, "leave rows of unknown outcome for this `DESTINATION` to a human (repeatable)")
	flags.BoolVar(&f.leaveAll, "leave-all", false, "leave rows of unknown outcome to a human, whatever their destination")
	flags.IntVar(&c.Default.InFlight, "in-flight", 1, "rows of one ordering key that may be under way at once; more than 1 is faster and keeps the order only while the broker refuses nothing")
	flags.DurationVar(&c.Lease, "lease", outbox.DefaultRelayLease, "for how long a relay that is gone keeps its rows")
	flags.IntVar(&c.Batch, "batch", outbox.DefaultRelayBatch, "rows to claim at once")
	flags.IntVar(&c.Parallel, "parallel", outbox.DefaultRelayParallel, "lanes to publish at once")
	flags.DurationVar(&c.MaxPoll, "poll", outbox.DefaultRelayMaxPoll, "how often to look for rows at least, when there were none for a while")
	flags.DurationVar(&c.Grace, "grace", outbox.DefaultRelayGrace, "how long what is under way may take once it was told to stop")
	flags.StringVar(&c.Name, "name", "", "shown to people; default host and process id")
	flags.DurationVar(&p.WarnAfter, "warn-after", outbox.DefaultReaperWarnAfter, "warn of rows that were left for a human this long ago")
	flags.DurationVar(&p.FailAfter, "fail-after", outbox.DefaultReaperFailAfter, "fail them after this time")
	flags.DurationVar(&p.Interval, "scan", outbox.DefaultReaperInterval, "how often to look for such rows")
	flags.StringVar(&f.health, "health-addr", "", "serve /health, /status and /metrics on this `ADDRESS`, as 127.0.0.1:9001")
	flags.DurationVar(&f.idle, "until-idle", 0, "stop once there was nothing to publish for this long")
	f.log.add(cmd)
	return cmd
}

func (f *relayFlags) run(ctx context.Context, r *root) error {
	logger, err := f.log.logger(r)
	if err != nil {
		return err
	}
	f.relay.Logger, f.reaper.Logger = logger, logger
	f.rules()
	return f.store.open(ctx, r, func(s app.Store) error {
		return r.withBroker(ctx, false, func(b app.Broker) error {
			m, err := newMetrics()
			if err != nil {
				return err
			}
			defer m.close()
			f.relay.Outbox, f.reaper.Outbox, f.relay.Broker, f.relay.Observe = s, s, b, m.ObserveRelay
			relay, err := outbox.NewRelay(f.relay)
			if err != nil {
				return &usageError{err}
			}
			reaper, err := outbox.NewReaper(f.reaper)
			if err != nil {
				return &usageError{err}
			}
			m.WatchRelay(relay)
			m.watchStore(s)
			health, err := startHealth(f.health, m.beside(relayHandler(relay, reaper)), logger)
			if err != nil {
				return &usageError{err}
			}
			defer health.stop()
			err = f.both(ctx, relay, reaper)
			if printErr := r.printRelayed(relay.Status()); err == nil {
				err = printErr
			}
			return err
		})
	})
}

// rules are the same for who publishes and for who reaps.
func (f *relayFlags) rules() {
	if f.leaveAll {
		f.relay.Default.Unknown = outbox.LeaveForHuman
	}
	f.relay.Routes = map[string]outbox.Route{}
	for _, destination := range f.leave {
		f.relay.Routes[destination] = outbox.Route{Unknown: outbox.LeaveForHuman}
	}
	f.reaper.Default, f.reaper.Routes = f.relay.Default, f.relay.Routes
}

// both runs until ctx ends, the relay cannot work, or nothing is to be done
// any more.
func (f *relayFlags) both(ctx context.Context, relay *outbox.Relay, reaper *outbox.Reaper) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var beside sync.WaitGroup
	beside.Go(func() { _ = reaper.Run(ctx) }) // says in the log what goes wrong, and only ends with ctx
	if f.idle > 0 {
		beside.Go(func() {
			waitIdle(ctx, relay, f.idle)
			stop()
		})
	}
	err := relay.Run(ctx)
	stop()
	beside.Wait()
	return err
}

// waitIdle returns when the relay was idle for d, or ctx has ended.
func waitIdle(ctx context.Context, relay *outbox.Relay, d time.Duration) {
	const look = 50 * time.Millisecond
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	idle := time.Now()
	for time.Since(idle) < d {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if relay.Status().State != outbox.RelayIdle {
			idle = time.Now()
		}
	}
}

// relayHealth is a relay's status as JSON.
type relayHealth struct {
	Ready        bool                `json:"ready"`
	State        outbox.RelayState   `json:"state"`
	Error        string              `json:"error,omitempty"`
	Name         string              `json:"name"`
	Lanes        int                 `json:"lanes"`
	Relays       int                 `json:"relays"`
	Destinations []destinationHealth `json:"destinations"`
	Books        outbox.RelayBooks   `json:"books"`
}

type destinationHealth struct {
	Destination string                  `json:"destination"`
	State       outbox.DestinationState `json:"state"`
	Error       string                  `json:"error,omitempty"`
}

func newRelayHealth(s outbox.RelayStatus) relayHealth {
	h := relayHealth{
		Ready: s.State == outbox.RelayRunning || s.State == outbox.RelayIdle, State: s.State, Error: text(s.Err),
		Name: s.Name, Lanes: s.Lanes, Relays: s.Relays, Books: s.Books,
	}
	for _, d := range s.Destinations {
		h.Destinations = append(h.Destinations, destinationHealth{d.Destination, d.State, text(d.Err)})
	}
	return h
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func relayHandler(relay *outbox.Relay, reaper *outbox.Reaper) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		h, code := newRelayHealth(relay.Status()), http.StatusOK
		if !h.Ready {
			code = http.StatusServiceUnavailable
		}
		writeJSON(w, code, h)
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, struct {
			Relay  relayHealth         `json:"relay"`
			Reaper outbox.ReaperStatus `json:"reaper"`
		}{newRelayHealth(relay.Status()), reaper.Status()})
	})
	return mux
}

func (r *root) printRelayed(s outbox.RelayStatus) error {
	if r.json() {
		return r.emit(newRelayHealth(s))
	}
	b := s.Books
	_, err := fmt.Fprintf(r.Stdout, "claimed %d: published %d, failed %d, given back %d, left for a human %d, fenced %d, in flight %d; repeated %d\n",
		b.Claimed, b.Published, b.Failed, b.Returned, b.Left, b.Fenced, b.InFlight, b.Repeats)
	return err
}
