// Package alerts has Prometheus rules for the failures that nobody notices, and
// a Grafana dashboard, as the files that they are: rules.yml and dashboard.json.
// The rules go by what services with package telemetry and `holdfast serve`
// publish, and each leads to a page of docs/runbooks.
package alerts

import (
	_ "embed" // the files
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// Rules is rules.yml, for a rule_files line of Prometheus 2.42 or later.
//
//go:embed rules.yml
var Rules []byte

// Dashboard is dashboard.json, for Grafana 9 or later.
//
//go:embed dashboard.json
var Dashboard []byte

// Rule is one alerting rule of the file.
type Rule struct {
	Group       string
	Name        string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         time.Duration     `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// All are the rules, in the order of the file. It panics on a file that is none,
// which its tests rule out.
var All = sync.OnceValue(func() (all []Rule) {
	var file struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []Rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal(Rules, &file); err != nil {
		panic("alerts: rules.yml: " + err.Error())
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			r.Group, r.Expr = g.Name, strings.TrimSpace(r.Expr)
			all = append(all, r)
		}
	}
	return all
})

var (
	metric   = regexp.MustCompile(`\bholdfast_[a-z_]+`)
	selector = regexp.MustCompile(`\b(holdfast_[a-z_]+)\{([^}]*)\}`)
	label    = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	grouping = regexp.MustCompile(`\b(?:by|on)\s*\(([^)]*)\)`)
)

// Metrics are all that the rules use, sorted.
func Metrics() []string { return slices.Sorted(maps.Keys(Labels())) }

// Labels are, of each metric that a rule uses, the labels that it selects or
// groups by, sorted. What is grouped belongs to every metric of the rule.
func Labels() map[string][]string {
	used := map[string]map[string]bool{}
	for _, r := range All() {
		names := metric.FindAllString(r.Expr, -1)
		for _, name := range names {
			if used[name] == nil {
				used[name] = map[string]bool{}
			}
			for _, g := range grouping.FindAllStringSubmatch(r.Expr, -1) {
				for _, l := range strings.FieldsFunc(g[1], func(c rune) bool { return c == ',' || c == ' ' }) {
					used[name][l] = true
				}
			}
		}
		for _, s := range selector.FindAllStringSubmatch(r.Expr, -1) {
			for _, l := range label.FindAllStringSubmatch(s[2], -1) {
				used[s[1]][l[1]] = true
			}
		}
	}
	all := map[string][]string{}
	for name, labels := range used {
		all[name] = slices.Sorted(maps.Keys(labels))
	}
	return all
}
