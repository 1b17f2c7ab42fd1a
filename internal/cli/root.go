package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/internal/app"
)

// The forms of output.
const (
	outputText = "text"
	outputJSON = "json"
)

// root is what the commands share: the environment and the global flags.
type root struct {
	Env
	url       string
	namespace string
	output    string
	yes       bool
}

// Run runs one command line and returns its exit code.
func Run(ctx context.Context, env Env) int {
	ctx, stop := withSignals(ctx, env)
	defer stop()
	cmd := newRoot(env)
	cmd.SetArgs(env.Args)
	cmd.SetIn(env.Stdin)
	cmd.SetOut(env.Stdout)
	cmd.SetErr(env.Stderr)
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		printError(env.Stderr, err)
	}
	return exitCode(err)
}

func newRoot(env Env) *cobra.Command {
	r := &root{Env: env}
	cmd := &cobra.Command{
		Use:           "holdfast",
		Short:         "Deals with the messages that a consumer could not process",
		Long:          "Holdfast deals with the messages that a consumer could not process: it retries them\nwithin bounds, holds them through an outage, parks what will never work, and lets you\nsee and replay them, without losing one.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("there is no command %q: see holdfast --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&r.url, "broker", "", "broker `URL` (amqp, amqps, nats, tls or embedded:DIR); default $HOLDFAST_BROKER, else $AMQP_URL (better than the flag, which other users can see)")
	flags.StringVar(&r.namespace, "namespace", app.DefaultNamespace, "begins the names of what consumers share")
	flags.StringVar(&r.output, "output", outputText, "text or json: one object per line")
	flags.BoolVar(&r.yes, "yes", false, "answer yes to every question")
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error { return r.check() }
	cmd.CompletionOptions.HiddenDefaultCmd = true
	for _, add := range []func(*root) *cobra.Command{
		newConsume, newParked, newPeek, newShow, newReplay, newResume, newDiscard, newExport, newAnswer,
		newRelay, newServe, newOutbox, newSetAside, newMigrate, newDoctor, newTopology, newRules, newDemo, newVersion,
	} {
		sub := add(r)
		markErrors(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

// markErrors does so for a command and all below it.
func markErrors(cmd *cobra.Command) {
	cmd.RunE = ownErrors(cmd.RunE)
	for _, sub := range cmd.Commands() {
		markErrors(sub)
	}
}

// ownErrors marks what a command returns, as opposed to the flag parser.
func ownErrors(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := run(cmd, args); err != nil {
			return &commandError{err}
		}
		return nil
	}
}

func (r *root) check() error {
	if r.output != outputText && r.output != outputJSON {
		return fmt.Errorf("--output is text or json, not %q", r.output)
	}
	return nil
}

func (r *root) json() bool { return r.output == outputJSON }

// config reads which broker is meant.
func (r *root) config(shared bool) (app.Config, error) {
	url := r.url
	for _, name := range []string{"HOLDFAST_BROKER", "AMQP_URL"} {
		if url == "" {
			url = r.Getenv(name)
		}
	}
	if url == "" {
		return app.Config{}, usagef("which broker? Set HOLDFAST_BROKER (or AMQP_URL) or give --broker, as amqp://user:password@host/vhost, nats://user:password@host or embedded:DIR")
	}
	return app.Config{URL: strings.TrimSpace(url), Namespace: r.namespace, SharedParked: shared}, nil
}

// withBroker opens the broker for as long as do runs.
func (r *root) withBroker(ctx context.Context, shared bool, do func(app.Broker) error) error {
	cfg, err := r.config(shared)
	if err != nil {
		return err
	}
	b, err := r.Open(ctx, cfg)
	if err != nil {
		return err
	}
	// What a verb did is durable before it returns; an error of closing would
	// only hide its result.
	defer func() { _ = b.Close() }()
	return do(b)
}
