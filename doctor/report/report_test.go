package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/doctor"
)

// example has one of everything: a failure, something less, something accepted,
// a source that gave nothing and one that was not asked.
func example() doctor.Report {
	finding := func(id string, s doctor.Severity, subject string) doctor.Finding {
		return doctor.Finding{
			ID: id, Severity: s, Subject: subject, Summary: "it has no queue", Evidence: []string{"3 queues", "0 bindings"},
			Notice: "orders do not come", Remedy: []string{"rabbitmqctl list_bindings"}, Limits: "that anything was lost",
		}
	}
	until := doctor.Day{Begin: time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)}
	return doctor.Report{
		Findings: []doctor.Finding{
			finding("HF901", doctor.Error, `exchange "a<&>b"`), finding("HF901", doctor.Error, "exchange \"\x1b\xff\""), finding("HF902", doctor.Info, "queue"),
		},
		Accepted: []doctor.Accepted{{Finding: finding("HF902", doctor.Warning, "old"), By: doctor.Acceptance{Reason: "goes soon", Owner: "billing", Expires: until}}},
		Stale:    []doctor.Stale{{Acceptance: doctor.Acceptance{ID: "HF903", Subject: "x", Owner: "billing", Expires: until}, Expired: true}},
		Blind:    []string{"the database: unreachable"},
		Sources:  []doctor.Source{doctor.SourceRabbitMQ},
		Missed:   []doctor.Source{doctor.SourceStore},
		Checks: []doctor.Check{
			{ID: "HF901", Title: "exchange without a queue", Needs: doctor.SourceRabbitMQ, Runbook: "dead-letter-accumulation.md"},
			{ID: "HF902", Title: "queue nobody needs", Needs: doctor.SourceRabbitMQ},
			{ID: "HF903", Title: "queue with a hole", Needs: doctor.SourceRabbitMQ},
			{ID: "HF904", Title: "row that is late", Needs: doctor.SourceStore},
			{ID: "HF905", Title: "rule not loaded", Needs: doctor.SourcePrometheus},
		},
	}
}

func sarifOf(t *testing.T, r doctor.Report) sarifRun {
	t.Helper()
	var out bytes.Buffer
	if err := SARIF(&out, r, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	in := json.NewDecoder(bytes.NewReader(out.Bytes()))
	in.DisallowUnknownFields()
	if err := in.Decode(&log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || !strings.Contains(log.Schema, "sarif-schema-2.1.0.json") || len(log.Runs) != 1 {
		t.Fatalf("%s %s, %d runs", log.Version, log.Schema, len(log.Runs))
	}
	return log.Runs[0]
}

func TestSARIF_has_a_rule_for_each_check_and_a_result_for_each_finding(t *testing.T) {
	run := sarifOf(t, example())
	if len(run.Results) != 4 || len(run.Tool.Driver.Rules) != 5 || run.Tool.Driver.Name == "" {
		t.Fatalf("%d results, %d rules", len(run.Results), len(run.Tool.Driver.Rules))
	}
	prints := map[string]bool{}
	for i, want := range []string{"error", "error", "note", "warning"} {
		r := run.Results[i]
		if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || r.Level != want {
			t.Errorf("result %d of %s points to the rule %d and is %s, want %s", i, r.RuleID, r.RuleIndex, r.Level, want)
		}
		if r.Message.Text == "" || r.Locations[0].Logical[0].Name == "" {
			t.Errorf("%s has no message or no location", r.RuleID)
		}
		prints[r.Fingerprints["subject/v1"]] = true
	}
	if len(prints) != 4 {
		t.Errorf("fingerprints: %v", prints)
	}
}

func TestSARIF_says_what_was_accepted_and_what_was_not_looked_at(t *testing.T) {
	run := sarifOf(t, example())
	if s := run.Results[3].Suppressions; len(s) != 1 || s[0].Kind != "external" || !strings.Contains(s[0].Justification, "goes soon (billing, until 2027-01-31)") {
		t.Errorf("suppressions: %+v", s)
	}
	if i := run.Invocations[0]; i.Successful || len(i.Notifications) != 2 {
		t.Errorf("invocation: %+v", i)
	}
}

func TestSARIF_of_nothing_is_a_run_that_succeeded(t *testing.T) {
	var out bytes.Buffer
	if err := SARIF(&out, doctor.Report{}, ""); err != nil {
		t.Fatal(err)
	}
	// Readers take a missing list for a run that gave none, and complain.
	for _, text := range []string{`"results": []`, `"rules": []`, `"executionSuccessful": true`} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("no %s in %s", text, out.String())
		}
	}
}

func junitOf(t *testing.T, r doctor.Report, failOn doctor.Severity) junitSuites {
	t.Helper()
	var out bytes.Buffer
	if err := JUnit(&out, r, failOn); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestJUnit_has_a_suite_for_each_source_and_a_case_for_each_check(t *testing.T) {
	got := junitOf(t, example(), doctor.Warning)
	if got.Tests != 5 || got.Failures != 1 || got.Errors != 1 || got.Skipped != 1 || len(got.Suites) != 3 {
		t.Fatalf("%d tests, %d failures, %d errors, %d skipped in %d suites", got.Tests, got.Failures, got.Errors, got.Skipped, len(got.Suites))
	}
	rabbit, database, rules := got.Suites[0], got.Suites[1], got.Suites[2]
	if rabbit.Name != "rabbitmq" || rabbit.Tests != 3 || database.Errors != 1 || rules.Skipped != 1 {
		t.Errorf("suites: %+v", got.Suites)
	}
	clean := rabbit.Cases[2]
	if clean.Failure != nil || clean.Out != nil || clean.Skipped != nil || clean.Error != nil {
		t.Errorf("a check that found nothing: %+v", clean)
	}
}

func TestJUnit_has_one_failure_for_all_findings_of_a_check(t *testing.T) {
	cases := junitOf(t, example(), doctor.Warning).Suites[0].Cases
	failed, quiet := cases[0], cases[1]
	if failed.Name != "HF901 exchange without a queue" || failed.Class != "holdfast.doctor.rabbitmq" || failed.Failure.Type != "error" {
		t.Errorf("case: %+v", failed)
	}
	if f := failed.Failure; !strings.Contains(f.Message, "(and 1 more)") || !strings.Contains(f.Text, `exchange "a<&>b"`) || !strings.Contains(f.Text, "to do: rabbitmqctl list_bindings") {
		t.Errorf("failure: %+v", f)
	}
	if quiet.Failure != nil || !strings.Contains(quiet.Out.Text, "info: queue") || !strings.Contains(quiet.Out.Text, "accepted (goes soon): old") {
		t.Errorf("what is less or accepted: %+v", quiet)
	}
}

func TestJUnit_fails_by_what_it_is_told_to(t *testing.T) {
	for failOn, want := range map[doctor.Severity]int{0: 0, doctor.Info: 2, doctor.Warning: 1, doctor.Error: 1} {
		var out bytes.Buffer
		if err := JUnit(&out, example(), failOn); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "<failure "); n != want {
			t.Errorf("from %v on: %d failures, want %d", failOn, n, want)
		}
	}
}
