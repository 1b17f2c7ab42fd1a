package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Check finds one kind of fault.
type Check struct {
	// ID is HF and three digits, and never used again for another check.
	ID string

	// Title says what the check finds, as "dead-letter exchange that does not exist".
	Title string

	// Needs is what the check looks at. It does not run without.
	Needs Source

	// Find returns the faults that the facts show. It may be called from many
	// goroutines and changes nothing. ID and, where it is empty, Runbook of a
	// finding are filled in by the caller.
	Find func(*Facts) []Finding

	// Runbook is the page for its findings.
	Runbook string
}

// Source is where facts come from. The set is closed.
type Source string

// The sources.
const (
	SourceRabbitMQ   Source = "rabbitmq"
	SourceStore      Source = "store"
	SourcePrometheus Source = "prometheus"
	SourceBroker     Source = "broker"    // the admin API of a broker that is not RabbitMQ
	SourceService    Source = "service"   // what a service is configured to do, and its credentials
	SourceManifests  Source = "manifests" // exported topologies of services
)

// groups are the checks by the files that list them.
var groups = [][]Check{deadLetterChecks, runningChecks, deployChecks, storeChecks, brokerChecks, prometheusChecks}

// Checks are all checks, in the order of their ids.
func Checks() []Check {
	all := slices.Concat(groups...)
	slices.SortFunc(all, func(a, b Check) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Report is what an examination found.
type Report struct {
	Findings []Finding `json:"findings"` // worst first, then by id and subject

	// Accepted are findings that a [Baseline] accepts, and Stale the entries of
	// it that do not act.
	Accepted []Accepted `json:"accepted,omitempty"`
	Stale    []Stale    `json:"stale,omitempty"`

	// Blind names what could not be looked at, and why.
	Blind []string `json:"blind,omitempty"`

	// Sources are those that were looked at. Missed are those that were asked for
	// and gave nothing.
	Sources []Source `json:"sources,omitempty"`
	Missed  []Source `json:"missed,omitempty"`

	// Checks are those that were to run; Ran and Skipped count them.
	Checks  []Check `json:"-"`
	Ran     int     `json:"ran"`
	Skipped int     `json:"skipped"`
}

// DidRun reports whether there was something to look at for a check.
func (r Report) DidRun(c Check) bool { return slices.Contains(r.Sources, c.Needs) }

// ran is the same by a check's id.
func (r Report) ran(id string) bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.ID == id && r.DidRun(c) })
}

// Worst is the highest severity of the findings, and 0 without one.
func (r Report) Worst() Severity {
	if len(r.Findings) == 0 {
		return 0
	}
	return r.Findings[0].Severity
}

// Examine runs every check that the facts have the sources for.
func Examine(f *Facts) Report { return Run(f, Checks()) }

// Run runs those of the checks that the facts have the sources for.
func Run(f *Facts, checks []Check) Report {
	r := Report{Sources: f.looked(), Missed: f.Missed, Checks: checks}
	for _, c := range checks {
		if !r.DidRun(c) {
			r.Skipped++
			continue
		}
		r.Ran++
		r.Findings = append(r.Findings, c.run(f)...)
	}
	r.Blind = f.blind()
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		if a.Severity != b.Severity {
			return int(b.Severity - a.Severity)
		}
		return strings.Compare(a.ID+a.Subject, b.ID+b.Subject)
	})
	return r
}

// run lets no fault of a check stop the others.
func (c Check) run(f *Facts) (found []Finding) {
	defer func() {
		if v := recover(); v != nil {
			found = []Finding{{
				ID: c.ID, Severity: Warning, Subject: "check " + c.ID, Summary: "the check itself failed: report it as a defect of holdfast",
				Evidence: []string{fmt.Sprint(v)}, Notice: "nothing: what this check looks for is not looked for",
				Remedy: []string{"report it with the versions of holdfast and of the broker"},
			}}
		}
	}()
	found = c.Find(f)
	for i := range found {
		found[i].ID = c.ID
		if found[i].Runbook == "" {
			found[i].Runbook = c.Runbook
		}
	}
	return found
}
