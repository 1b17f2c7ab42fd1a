package alerts

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"
)

func TestEveryRuleIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		if seen[r.Name] {
			t.Errorf("%s is there twice", r.Name)
		}
		seen[r.Name] = true
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s has the severity %q", r.Name, r.Labels["severity"])
		}
		for _, name := range []string{"summary", "description", "runbook_url"} {
			if r.Annotations[name] == "" {
				t.Errorf("%s has no %s", r.Name, name)
			}
		}
		if len(r.Metrics()) == 0 {
			t.Errorf("%s uses no metric of ours", r.Name)
		}
	}
	if len(seen) < 39 {
		t.Errorf("there are only %d rules", len(seen))
	}
}

func TestLabelsAreThoseOfTheirOperand(t *testing.T) {
	for name, want := range map[string][]string{
		"holdfast_settled_total":       {"fate", "queue"},
		"holdfast_queue_ready":         {"queue", "role", "vhost"},
		"holdfast_queue_messages":      {"queue", "role", "vhost"},
		"holdfast_parked_total":        {"queue", "reason"},
		"holdfast_outbox_rows":         {"class", "destination", "state"},
		"holdfast_connections_blocked": nil,
	} {
		if got := Labels()[name]; !slices.Equal(got, want) {
			t.Errorf("%s is used with %v, not %v", name, got, want)
		}
	}
}

func TestDashboardIsWhole(t *testing.T) {
	var board struct {
		UID    string
		Title  string
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
		Templating struct{ List []struct{ Name string } }
	}
	if err := json.Unmarshal(Dashboard, &board); err != nil {
		t.Fatal(err)
	}
	var rows, variables []string
	ours := regexp.MustCompile(`holdfast_|messaging_process_duration_seconds`)
	for _, p := range board.Panels {
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if len(p.Targets) == 0 {
			t.Errorf("panel %q asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			if !ours.MatchString(target.Expr) {
				t.Errorf("panel %q asks for %q", p.Title, target.Expr)
			}
		}
	}
	for _, v := range board.Templating.List {
		variables = append(variables, v.Name)
	}
	if want := []string{"Consumers", "Failures", "Parked", "Outbox", "Broker"}; !slices.Equal(rows, want) {
		t.Errorf("the rows are %v, not %v", rows, want)
	}
	if !slices.Contains(variables, "queue") || board.UID == "" || board.Title == "" {
		t.Errorf("uid %q, title %q, variables %v", board.UID, board.Title, variables)
	}
}
