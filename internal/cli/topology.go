package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/topology"
)

func newTopology(r *root) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topology",
		Short: "What services declare, publish and consume: write it down, compare it, draw it",
		Long: "Topology works on manifests: a file for each service, committed beside its code, that says which\n" +
			"exchanges, queues and bindings it declares, under which keys it publishes, and what it consumes.\n" +
			"Compared with each other in CI, they show a binding that nothing publishes to, and a key that\n" +
			"nothing binds, before a deploy.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTopologyExport(r), newTopologyCheck(r), newTopologyDiff(r), newTopologyGraph(r))
	return cmd
}

func newTopologyExport(r *root) *cobra.Command {
	var at topologyFlags
	var m topology.Manifest
	var prefix string
	cmd := &cobra.Command{
		Use:   "export --service NAME",
		Short: "Write the manifest of a service from what a broker has; add by hand what it publishes",
		Long: "Export writes the exchanges, queues and bindings of one virtual host as the manifest of one service. What\n" +
			"Holdfast makes itself (rungs, hold and parked queues) is left out: every consumer makes it at its start.\n" +
			"A broker knows nobody's intentions: what the service publishes, and which keys its handlers know, is\n" +
			"added by hand.",
		Example: "  holdfast topology export --service billing --prefix billing. > manifests/billing.json\n" +
			"  holdfast topology export --service billing --prefix billing. --definitions definitions.json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if m.Service == "" {
				return usagef("which service? --service names it")
			}
			seen, err := r.seen(cmd.Context(), &at)
			if err != nil {
				return err
			}
			m.Version, m.VHost, m.Declares = topology.ManifestVersion, seen.vhost, seen.topology.Without(r.own).Of(prefix)
			if m.VHost == "/" {
				m.VHost = ""
			}
			for _, q := range m.Declares.Queues {
				m.Consumes = append(m.Consumes, topology.Consumption{Queue: q.Name})
			}
			text, err := m.Encode()
			if err != nil {
				return err
			}
			_, err = r.Stdout.Write(text)
			return err
		},
	}
	at.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&m.Service, "service", "", "the service's `NAME`")
	flags.StringVar(&m.Owner, "owner", "", "who is to be woken")
	flags.StringVar(&m.User, "user", "", "who it logs in as")
	flags.StringVar(&prefix, "prefix", "", "only what begins with this; empty is all")
	return cmd
}

// own reports whether an exchange or a queue is one that Holdfast makes itself.
func (r *root) own(name string) bool {
	return doctor.Names{Namespaces: []string{r.namespace}}.Role(name) != doctor.RoleForeign
}

func newTopologyCheck(r *root) *cobra.Command {
	return &cobra.Command{
		Use:     "check MANIFEST…",
		Short:   "Compare the manifests of all services with each other; needs no broker",
		Example: "  holdfast topology check manifests/*.json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			manifests, err := readManifests(files)
			if err != nil {
				return err
			}
			faults := topology.Check(manifests)
			for _, f := range faults {
				if err := r.showFault(f); err != nil {
					return err
				}
			}
			if len(faults) > 0 {
				return &incompleteError{count(len(faults), "fault")}
			}
			if !r.json() {
				fmt.Fprintf(r.Stdout, "%s agree\n", count(len(manifests), "manifest"))
			}
			return nil
		},
	}
}

func (r *root) showFault(f topology.Fault) error {
	if r.json() {
		return r.emit(f)
	}
	fmt.Fprintf(r.Stdout, "%s: %s\n", printable(f.Subject), printable(f.Summary))
	for _, line := range f.Evidence {
		fmt.Fprintf(r.Stdout, "  %s\n", printable(line))
	}
	_, err := fmt.Fprintf(r.Stdout, "  → %s\n", printable(f.Remedy))
	return err
}

func newTopologyDiff(r *root) *cobra.Command {
	var at topologyFlags
	var prefix string
	cmd := &cobra.Command{
		Use:   "diff OLD [NEW]",
		Short: "Say what leads from one manifest to another, or from a broker to a manifest",
		Long: "With two manifests, diff says what a change brings. With one, it compares the broker with it:\n" +
			"what is added will be declared, what is removed stays, since declarations never remove, and what is\n" +
			"changed will be refused with 406.",
		Example: "  holdfast topology diff --prefix billing. manifests/billing.json\n  git show HEAD:manifests/billing.json > old.json && holdfast topology diff old.json manifests/billing.json",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, files []string) error {
			manifests, err := readManifests(files)
			if err != nil {
				return err
			}
			from, to := manifests[0].Declares, manifests[len(manifests)-1].Declares
			if len(files) == 1 {
				seen, err := r.seen(cmd.Context(), &at)
				if err != nil {
					return err
				}
				from = seen.topology.Without(r.own).Of(prefix)
			}
			return r.showChanges(topology.Diff(from, to))
		},
	}
	at.add(cmd)
	cmd.Flags().StringVar(&prefix, "prefix", "", "of the broker, only what begins with this")
	return cmd
}

func (r *root) showChanges(changes []topology.Change) error {
	for _, c := range changes {
		if r.json() {
			if err := r.emit(c); err != nil {
				return err
			}
			continue
		}
		line := fmt.Sprintf("%s %s %s", c.What, c.Kind, c.Name)
		if c.What == topology.Changed {
			line += " (406 at the next declaration, unless it is deleted first)"
		}
		fmt.Fprintln(r.Stdout, printable(line))
		for _, d := range c.Details {
			fmt.Fprintf(r.Stdout, "  %s\n", printable(d))
		}
	}
	if len(changes) > 0 {
		return &incompleteError{count(len(changes), "difference")}
	}
	if !r.json() {
		fmt.Fprintln(r.Stdout, "no difference")
	}
	return nil
}

func newTopologyGraph(r *root) *cobra.Command {
	var at topologyFlags
	var format string
	cmd := &cobra.Command{
		Use:   "graph [MANIFEST…]",
		Short: "Draw exchanges, queues and where rejected messages go, of a broker or of manifests",
		Long: "Graph draws a virtual host of a broker or, with files, what their services declare. A dotted arrow is what a\n" +
			"queue gives away, with the causes and the promise of that hop: confirmed, at-most-once, or a black hole.",
		Example: "  holdfast topology graph > topology.mmd\n  holdfast topology graph --format dot manifests/*.json | dot -Tsvg > topology.svg",
		RunE: func(cmd *cobra.Command, files []string) error {
			t, rules, err := r.drawn(cmd.Context(), &at, files)
			if err != nil {
				return err
			}
			if err := topology.Graph(r.Stdout, t, rules, topology.GraphFormat(format)); err != nil {
				return &usageError{err}
			}
			return nil
		},
	}
	at.add(cmd)
	cmd.Flags().StringVar(&format, "format", string(topology.Mermaid), "mermaid or dot")
	return cmd
}

func (r *root) drawn(ctx context.Context, at *topologyFlags, files []string) (topology.Topology, topology.Rules, error) {
	if len(files) == 0 {
		seen, err := r.seen(ctx, at)
		return seen.topology, seen.rules, err
	}
	manifests, err := readManifests(files)
	if err != nil {
		return topology.Topology{}, topology.Rules{}, err
	}
	for _, m := range manifests {
		if m.VHost != manifests[0].VHost {
			return topology.Topology{}, topology.Rules{}, usagef("a graph is that of one virtual host, and these manifests are of %q and %q", manifests[0].VHost, m.VHost)
		}
	}
	return topology.Join(manifests), topology.RulesOf(""), nil
}

func readManifests(files []string) (all []topology.Manifest, err error) {
	var errs []error
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			errs = append(errs, &usageError{err})
			continue
		}
		m, err := topology.Parse(text)
		if err != nil {
			errs = append(errs, &usageError{fmt.Errorf("%s: %w", name, err)})
			continue
		}
		all = append(all, m)
	}
	return all, errors.Join(errs...)
}
