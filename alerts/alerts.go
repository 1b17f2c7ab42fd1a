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
	grouping = regexp.MustCompile(`\bby\s*\(([^)]*)\)`)
	joint    = regexp.MustCompile(`\b(?:and|or|unless)\b(?:\s+on\s*\(([^)]*)\))?`)
)

// Metrics are all of Holdfast's that the rules use, sorted.
func Metrics() []string { return slices.Sorted(maps.Keys(Labels())) }

// Labels are, of each metric of Holdfast's that a rule uses, the labels that it
// selects, groups or joins by, sorted.
func Labels() map[string][]string {
	used := map[string]map[string]bool{}
	for _, r := range All() {
		used = r.labels(used)
	}
	all := map[string][]string{}
	for name, labels := range used {
		all[name] = slices.Sorted(maps.Keys(labels))
	}
	return all
}

// Metrics are those of Holdfast's that the rule uses, sorted.
func (r Rule) Metrics() []string {
	return slices.Sorted(maps.Keys(r.labels(map[string]map[string]bool{})))
}

// labels adds what the rule uses. It knows of PromQL what these rules need: what
// is joined on belongs to the operand before all and to the one that follows.
func (r Rule) labels(used map[string]map[string]bool) map[string]map[string]bool {
	joints := joint.FindAllStringSubmatch(r.Expr, -1)
	operands := joint.Split(r.Expr, -1)
	for i, operand := range operands {
		use(used, operand, list(grouping, operand))
		if i > 0 {
			use(used, operand, names(joints[i-1][1]))
			use(used, operands[0], names(joints[i-1][1]))
		}
		for _, s := range selector.FindAllStringSubmatch(operand, -1) {
			use(used, s[1], list(label, s[2]))
		}
	}
	return used
}

// use says that all metrics of an operand are used with these labels.
func use(used map[string]map[string]bool, operand string, labels []string) {
	for _, name := range metric.FindAllString(operand, -1) {
		if used[name] == nil {
			used[name] = map[string]bool{}
		}
		for _, l := range labels {
			used[name][l] = true
		}
	}
}

// list is what all matches of a pattern name.
func list(pattern *regexp.Regexp, text string) (all []string) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		all = append(all, names(m[1])...)
	}
	return all
}

func names(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' })
}
