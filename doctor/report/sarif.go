package report

import (
	"encoding/json"
	"io"

	"github.com/holdfast-mq/holdfast/doctor"
)

const (
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sarifVersion = "2.1.0"
)

// The part of SARIF that a report has. The structs are our own: the one kept Go
// module for SARIF brings a JSON schema validator to whoever imports it.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID         string        `json:"id"`
		Short      sarifText     `json:"shortDescription"`
		Help       *sarifText    `json:"help,omitempty"`
		Properties sarifRuleTags `json:"properties"`
	}
	sarifRuleTags struct {
		Tags []string `json:"tags"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifLocation struct {
		Logical []sarifLogical `json:"logicalLocations"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
)

var sarifLevels = map[doctor.Severity]string{doctor.Info: "note", doctor.Warning: "warning", doctor.Error: "error"}

// SARIF writes r as one run of a tool of the given version. Every check that
// was to run is a rule; what a baseline accepts is suppressed, with its reason;
// what could not be looked at is a notification of the run. A finding is about a
// queue or a node and no line of a file, so that its location is a logical one.
func SARIF(w io.Writer, r doctor.Report, version string) error {
	run := sarifRun{
		Tool:    sarifTool{sarifDriver{Name: "holdfast doctor", Version: version, Rules: []sarifRule{}}},
		Results: []sarifResult{},
	}
	index := map[string]int{}
	for _, c := range r.Checks {
		index[c.ID] = len(run.Tool.Driver.Rules)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, newRule(c))
	}
	for _, f := range r.Findings {
		run.Results = append(run.Results, newResult(f, index[f.ID]))
	}
	for _, a := range r.Accepted {
		result := newResult(a.Finding, index[a.ID])
		result.Suppressions = []sarifSuppression{{"external", a.By.Reason + " (" + a.By.Owner + ", until " + a.By.Expires.String() + ")"}}
		run.Results = append(run.Results, result)
	}
	run.Invocations = []sarifInvocation{newInvocation(r)}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(sarifLog{sarifSchema, sarifVersion, []sarifRun{run}})
}

func newRule(c doctor.Check) sarifRule {
	rule := sarifRule{ID: c.ID, Short: sarifText{c.Title}, Properties: sarifRuleTags{[]string{string(c.Needs)}}}
	if c.Runbook != "" {
		rule.Help = &sarifText{"Runbook: docs/runbooks/" + c.Runbook}
	}
	return rule
}

func newResult(f doctor.Finding, rule int) sarifResult {
	return sarifResult{
		RuleID: f.ID, RuleIndex: rule, Level: sarifLevels[f.Severity], Message: sarifText{prose(f)},
		Locations:    []sarifLocation{{[]sarifLogical{{f.Subject, "resource"}}}},
		Fingerprints: map[string]string{"subject/v1": f.ID + " " + f.Subject},
	}
}

// newInvocation: a source that was asked for and gave nothing is a run that
// failed, even where the others went on.
func newInvocation(r doctor.Report) sarifInvocation {
	i := sarifInvocation{Successful: len(r.Missed) == 0}
	for _, text := range r.Blind {
		i.Notifications = append(i.Notifications, sarifNotification{"warning", sarifText{"not looked at: " + text}})
	}
	for _, s := range r.Stale {
		i.Notifications = append(i.Notifications, sarifNotification{"warning", sarifText{"baseline: " + StaleText(s)}})
	}
	return i
}
