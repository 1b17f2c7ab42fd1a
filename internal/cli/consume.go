package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/internal/app"
	"github.com/holdfast-mq/holdfast/internal/cli/sidecar"
)

// defaultTimeout bounds one call of the endpoint or command. The library has
// no such bound, since Go code can be trusted to come back; another process
// cannot.
const defaultTimeout = time.Minute

type consumeFlags struct {
	queue   string
	http    string
	command string
	request bool
	shared  bool

	ladder    string
	exhausted string
	policy    holdfast.Policy

	prefetch    int
	concurrency int
	grace       time.Duration

	health string
	idle   time.Duration
	log    logFlags
}

func newConsume(r *root) *cobra.Command {
	var f consumeFlags
	cmd := &cobra.Command{
		Use:   "consume --queue Q (--http URL | --exec CMD)",
		Short: "Consume a queue for a service in any language, by HTTP or by running a command",
		Long: "Consume hands each message of a queue to an HTTP endpoint or to a command, and deals with\n" +
			"what they cannot process: retries on a ladder of delays, holds, parking.\n\n" +
			"HTTP: 2xx done; 429, 503 hold (with Retry-After: retry after that); 400, 404, 409, 410, 413,\n" +
			"415, 422, 431 park; other 5xx, 408, 425, timeouts and refused connections retry; anything\n" +
			"else hold. The header Holdfast-Verdict (done, retry, hold, park, discard) overrides.\n" +
			"Exit codes: 0 done, 65 park, 75 hold (126 and 127, too), anything else retry.\n\n" +
			"The first SIGINT or SIGTERM stops it gracefully, the second at once.",
		Example: "  holdfast consume --queue orders --http http://127.0.0.1:8080/orders\n  holdfast consume --queue orders --exec './handle-order' --ladder 1s,1m,10m",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), r) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.queue, "queue", "", "the queue to consume; it must exist and is never changed")
	flags.StringVar(&f.http, "http", "", "POST each message to this `URL`")
	flags.StringVar(&f.command, "exec", "", "run this `COMMAND` with sh -c for each message, the body on stdin")
	flags.BoolVar(&f.request, "request", false, "the messages are requests: a short ladder, and the answer's body (or the command's stdout) is the reply")
	flags.BoolVar(&f.shared, "shared", false, "park into the queue that all share, <namespace>.parked")
	f.addPolicy(cmd)
	flags.IntVar(&f.prefetch, "prefetch", holdfast.DefaultPrefetch, "messages that the broker may have outstanding here")
	flags.IntVar(&f.concurrency, "concurrency", holdfast.DefaultConcurrency, "messages that are worked on at once")
	flags.DurationVar(&f.grace, "grace", holdfast.DefaultGrace, "how long running calls may take once it was told to stop")
	flags.StringVar(&f.health, "health-addr", "", "serve /health, /ready, /live, /books and /metrics on this `ADDRESS`, as 127.0.0.1:9000")
	flags.DurationVar(&f.idle, "until-idle", 0, "stop once nothing happened for this long")
	f.log.add(cmd)
	cmd.MarkFlagsMutuallyExclusive("http", "exec")
	cmd.MarkFlagsOneRequired("http", "exec")
	if err := cmd.MarkFlagRequired("queue"); err != nil {
		panic(err) // the flag was defined a few lines above
	}
	return cmd
}

func (f *consumeFlags) addPolicy(cmd *cobra.Command) {
	flags, p := cmd.Flags(), &f.policy
	flags.StringVar(&f.ladder, "ladder", "", "delays between attempts, as 1s,10s,30s,90s (the default; with --request 1s,3s,5s,10s); none means one attempt")
	flags.DurationVar(&p.Hold, "hold", holdfast.DefaultHold, "how long a held message waits")
	flags.IntVar(&p.Laps, "laps", holdfast.DefaultLaps, "holds that a message may go through before it is parked")
	flags.IntVar(&p.Crashes, "crashes", holdfast.DefaultCrashes, "deliveries that may end without a settlement before the message is parked unrun")
	flags.IntVar(&p.Tries, "tries", 1, "calls inside one attempt, a few 100 ms apart")
	flags.DurationVar(&p.Timeout, "timeout", defaultTimeout, "how long one call may take; 0 is no limit")
	flags.StringVar(&f.exhausted, "exhausted", string(holdfast.ExhaustedPark), "park or hold: what happens once the ladder is spent")
}

// runner is a consumer or a responder.
type runner interface {
	Run(context.Context) error
	Books() holdfast.Books
	Health() holdfast.Health
}

func (f *consumeFlags) run(ctx context.Context, r *root) error {
	logger, err := f.log.logger(r)
	if err != nil {
		return err
	}
	if f.policy.Ladder, err = f.parseLadder(); err != nil {
		return err
	}
	f.policy.Exhausted = holdfast.Exhausted(f.exhausted)
	handler, err := f.handler()
	if err != nil {
		return &usageError{err}
	}
	return r.withBroker(ctx, f.shared, func(b app.Broker) error {
		idle := newIdleWatch(f.idle)
		m, err := newMetrics()
		if err != nil {
			return err
		}
		defer m.close()
		c, err := f.consumer(b, handler, holdfast.Observers(holdfast.LogObserver(logger), idle, m))
		if err != nil {
			return &usageError{err}
		}
		m.Watch(c)
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		health, err := startHealth(f.health, m.beside(healthHandler(c)), logger)
		if err != nil {
			return &usageError{err}
		}
		defer health.stop()
		idle.start(ctx, c, stop)
		err = c.Run(ctx)
		if printErr := r.printBooks(c.Books()); err == nil {
			err = printErr
		}
		return err
	})
}

func (f *consumeFlags) handler() (sidecar.Handler, error) {
	if f.http != "" {
		return sidecar.HTTP(sidecar.HTTPConfig{URL: f.http, Concurrency: f.concurrency, Reply: f.request})
	}
	return sidecar.Exec(sidecar.ExecConfig{Command: f.command, Without: []string{"HOLDFAST_BROKER"}, Reply: f.request})
}

func (f *consumeFlags) consumer(b app.Broker, handle sidecar.Handler, o holdfast.Observer) (runner, error) {
	if f.request {
		return holdfast.NewResponder(b, holdfast.ResponderConfig{
			Queue: f.queue, Handler: handle, Policy: f.policy, Prefetch: f.prefetch,
			Concurrency: f.concurrency, Grace: f.graceOrNone(), Observer: o,
		})
	}
	return holdfast.NewConsumer(b, holdfast.ConsumerConfig{
		Queue: f.queue, Policy: f.policy, Prefetch: f.prefetch,
		Concurrency: f.concurrency, Grace: f.graceOrNone(), Observer: o,
		Handler: func(ctx context.Context, m *holdfast.Message) error {
			_, err := handle(ctx, m)
			return err
		},
	})
}

// graceOrNone turns a typed 0, which is none, into what the library calls so.
func (f *consumeFlags) graceOrNone() time.Duration {
	if f.grace == 0 {
		return -1
	}
	return f.grace
}

func (f *consumeFlags) parseLadder() ([]time.Duration, error) {
	switch strings.TrimSpace(f.ladder) {
	case "":
		if f.request {
			return holdfast.RequestPolicy().Ladder, nil
		}
		return holdfast.EventPolicy().Ladder, nil
	case "none":
		return []time.Duration{}, nil
	}
	var ladder []time.Duration
	for _, rung := range strings.Split(f.ladder, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(rung))
		if err != nil {
			return nil, usagef("--ladder: %q is not a duration: write it as 1s,10s,30s,90s, or none", rung)
		}
		ladder = append(ladder, d)
	}
	return ladder, nil
}

func (r *root) printBooks(b holdfast.Books) error {
	if r.json() {
		return r.emit(b)
	}
	_, err := fmt.Fprintf(r.Stdout, "received %d: done %d, delayed %d, held %d, parked %d, discarded %d, released %d, in flight %d\n",
		b.Received, b.Done, b.Delayed, b.Held, b.Parked, b.Discarded, b.Released, b.InFlight)
	return err
}
