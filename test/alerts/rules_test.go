package alerts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-mq/holdfast/alerts"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

const tree = "../.."

// tool is the path of a program of the package prometheus.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		testenv.Skip(t, "prometheus", name+" is not installed (make setup)")
	}
	return path
}

func TestPromtoolAcceptsTheRules(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", "rules.yml")
}

func TestPromtoolSeesEachRuleFireAndNotFire(t *testing.T) {
	t.Parallel()
	promtool(t, "test", "rules", "rules_test.yml")
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool(t, "promtool"), args...)
	cmd.Dir = filepath.Join(tree, "alerts")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

// cases are the alerts by whether a case wants them to fire.
func cases(t *testing.T) (fires, silent map[string]bool) {
	t.Helper()
	var file struct {
		Tests []struct {
			Name  string
			Rules []struct {
				Alert    string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal(read(t, "alerts/rules_test.yml"), &file); err != nil {
		t.Fatal(err)
	}
	fires, silent = map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, r := range test.Rules {
			if !strings.HasPrefix(test.Name, r.Alert+" ") {
				t.Errorf("the case %q is about %s", test.Name, r.Alert)
			}
			if len(r.Expected) > 0 {
				fires[r.Alert] = true
			} else {
				silent[r.Alert] = true
			}
		}
	}
	return fires, silent
}

func TestEachAlertHasACaseOfEachKind(t *testing.T) {
	fires, silent := cases(t)
	for _, r := range alerts.All() {
		if !fires[r.Name] {
			t.Errorf("no case wants %s to fire", r.Name)
		}
		if !silent[r.Name] {
			t.Errorf("no case wants %s not to fire", r.Name)
		}
	}
}

func TestEachAlertLeadsToAHeadingOfAPage(t *testing.T) {
	for _, r := range alerts.All() {
		path, anchor, _ := strings.Cut(r.Annotations["runbook_url"], "#")
		if !strings.HasPrefix(path, "docs/runbooks/") {
			t.Errorf("%s leads to %q", r.Name, path)
			continue
		}
		if !slices.Contains(anchors(string(read(t, path))), anchor) {
			t.Errorf("%s leads to %s, which has no heading %q", r.Name, path, anchor)
		}
	}
}

var heading = regexp.MustCompile(`(?m)^#+ (.+)$`)

// anchors are the headings of a page as links write them.
func anchors(page string) (all []string) {
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

func TestPagesNameOnlyAlertsThatExist(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(tree, "docs/runbooks/*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal("no runbooks", err)
	}
	for _, page := range append(pages, filepath.Join(tree, "docs/alerts.md")) {
		for _, name := range named(t, page) {
			if !slices.ContainsFunc(alerts.All(), func(r alerts.Rule) bool { return r.Name == name }) {
				t.Errorf("%s names %s, which is no alert", page, name)
			}
		}
	}
}

func TestTheTableOfAlertsHasThemAll(t *testing.T) {
	names := named(t, filepath.Join(tree, "docs/alerts.md"))
	for _, r := range alerts.All() {
		if !slices.Contains(names, r.Name) {
			t.Errorf("docs/alerts.md does not name %s", r.Name)
		}
	}
}

var alertName = regexp.MustCompile(`\bHoldfast[A-Z]\w+`)

func named(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return alertName.FindAllString(string(text), -1)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tree, path))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
