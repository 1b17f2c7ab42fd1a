package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/alerts"
)

func newRules(r *root) *cobra.Command {
	var dashboard bool
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Print the alert rules for Prometheus, or the dashboard for Grafana",
		Long: "Rules prints the alert rules of this version, for a file that prometheus.yml names under rule_files.\n" +
			"holdfast doctor --prometheus URL then tells whether that Prometheus has loaded them, evaluates them,\n" +
			"has the metrics that they need, and sends alerts to somebody.",
		Example: "  holdfast rules > holdfast.yml && promtool check rules holdfast.yml\n" +
			"  holdfast rules --dashboard > holdfast.json",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			file := alerts.Rules
			switch {
			case dashboard:
				file = alerts.Dashboard
			case r.json():
				return r.emitRules()
			}
			_, err := r.Stdout.Write(file)
			return err
		},
	}
	cmd.Flags().BoolVar(&dashboard, "dashboard", false, "print the Grafana dashboard")
	return cmd
}

type ruleLine struct {
	Group    string            `json:"group"`
	Name     string            `json:"name"`
	Severity string            `json:"severity"`
	Expr     string            `json:"expr"`
	For      float64           `json:"for_seconds"`
	Texts    map[string]string `json:"annotations"`
}

func (r *root) emitRules() error {
	var errs []error
	for _, a := range alerts.All() {
		errs = append(errs, r.emit(ruleLine{a.Group, a.Name, a.Labels["severity"], a.Expr, a.For.Seconds(), a.Annotations}))
	}
	return errors.Join(errs...)
}
