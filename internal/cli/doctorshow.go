package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/doctor/report"
)

const (
	red = "\x1b[31m"

	// doctorWidth is the widest that text is set, however wide the terminal is:
	// longer lines are hard to read. A command is never broken.
	doctorWidth = 80

	// doctorIndent is where the text of a finding begins, behind its labels.
	doctorIndent = 14
)

// show writes a report to stdout.
func (d *doctorRun) show(rep doctor.Report) error {
	if d.json() {
		return d.emitReport(rep)
	}
	var b strings.Builder
	for _, s := range []doctor.Severity{doctor.Error, doctor.Warning, doctor.Info} {
		d.section(&b, s, rep.Findings)
	}
	lines := func(heading string, texts []string) {
		if len(texts) == 0 {
			return
		}
		fmt.Fprintf(&b, "%s\n\n", d.heading(heading))
		for _, text := range texts {
			d.item(&b, "  - ", text)
		}
		b.WriteString("\n")
	}
	lines("accepted by the baseline", acceptedTexts(rep.Accepted))
	lines("entries of the baseline that do not act", staleTexts(rep.Stale))
	lines("not looked at", rep.Blind)
	b.WriteString(doctorSummary(rep) + "\n")
	_, err := io.WriteString(d.Stdout, b.String())
	return err
}

func (d *doctorRun) section(b *strings.Builder, s doctor.Severity, findings []doctor.Finding) {
	var of []doctor.Finding
	for _, f := range findings {
		if f.Severity == s {
			of = append(of, f)
		}
	}
	if len(of) == 0 {
		return
	}
	fmt.Fprintf(b, "%s\n\n", d.tint(count(len(of), severityNoun[s]), s))
	for _, f := range of {
		d.finding(b, f)
		b.WriteString("\n")
	}
}

var severityNoun = map[doctor.Severity]string{doctor.Error: "error", doctor.Warning: "warning", doctor.Info: "remark"}

// finding writes one with its labels.
func (d *doctorRun) finding(b *strings.Builder, f doctor.Finding) {
	fmt.Fprintf(b, "%s  %s\n", d.tint(f.ID, f.Severity), d.heading(printable(f.Subject)))
	d.item(b, "  ", f.Summary)
	d.labelled(b, "seen", f.Evidence)
	d.labelled(b, "users notice", notEmpty(f.Notice))
	d.labelled(b, "to do", f.Remedy)
	d.labelled(b, "not proven", notEmpty(f.Limits))
	if f.Runbook != "" {
		d.labelled(b, "runbook", []string{"docs/runbooks/" + f.Runbook})
	}
}

func notEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// labelled writes texts below each other, behind one label.
func (d *doctorRun) labelled(b *strings.Builder, label string, texts []string) {
	for i, text := range texts {
		head := ""
		if i == 0 {
			head = label
		}
		// One space at least, also behind the longest label.
		d.item(b, pad("  "+head, doctorIndent+1), text)
	}
}

// item writes a text behind head, and its further lines as far to the right.
func (d *doctorRun) item(b *strings.Builder, head, text string) {
	width := doctorWidth
	if d.StdoutTerminal && d.Width > 0 {
		width = min(d.Width, doctorWidth)
	}
	indent := uniseg.StringWidth(head)
	for i, line := range wrap(printable(text), width-indent) {
		if i > 0 {
			head = strings.Repeat(" ", indent)
		}
		b.WriteString(strings.TrimRight(head+line, " ") + "\n")
	}
}

// remedyCommands are the programs that remedies name. A line that begins with one is
// to be copied whole.
var remedyCommands = []string{
	"rabbitmqctl", "rabbitmq-diagnostics", "rabbitmq-plugins", "rabbitmq-queues", "rabbitmqadmin", "holdfast", "psql", "sqlite3",
	"nats", "aws", "gcloud", "kubectl", "curl", "promtool", "chronyc", "timedatectl", "df", "SELECT", "export",
}

// wrap breaks text between words; a word that is too long stays whole.
func wrap(text string, width int) []string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil
	}
	if slices.Contains(remedyCommands, words[0]) {
		return []string{text}
	}
	lines := []string{words[0]}
	for _, word := range words[1:] {
		last := &lines[len(lines)-1]
		if uniseg.StringWidth(*last)+1+uniseg.StringWidth(word) > width {
			lines = append(lines, word)
			continue
		}
		*last += " " + word
	}
	return lines
}

// tint colours text on stdout by a severity, where that is a terminal and
// NO_COLOR is not set.
func (d *doctorRun) tint(text string, s doctor.Severity) string {
	colour := map[doctor.Severity]string{doctor.Error: red, doctor.Warning: yellow, doctor.Info: bold}[s]
	if !d.StdoutTerminal || d.Getenv("NO_COLOR") != "" {
		return text
	}
	return colour + text + plain
}

func acceptedTexts(all []doctor.Accepted) []string {
	var out []string
	for _, a := range all {
		out = append(out, fmt.Sprintf("%s %s: %s; %s (%s, until %s)", a.ID, a.Subject, a.Summary, a.By.Reason, a.By.Owner, a.By.Expires))
	}
	return out
}

func staleTexts(all []doctor.Stale) []string {
	var out []string
	for _, s := range all {
		out = append(out, report.StaleText(s))
	}
	return out
}

// doctorSummary is the last line: no findings of checks that could not run prove
// nothing.
func doctorSummary(rep doctor.Report) string {
	n := severities(rep)
	found := "nothing found"
	if len(rep.Findings) > 0 {
		parts := []string{count(n[doctor.Error], "error"), count(n[doctor.Warning], "warning")}
		if n[doctor.Info] > 0 {
			parts = append(parts, count(n[doctor.Info], "remark"))
		}
		found = strings.Join(parts, ", ")
	}
	if len(rep.Accepted) > 0 {
		found += fmt.Sprintf(" (%d accepted)", len(rep.Accepted))
	}
	return fmt.Sprintf("%s; ran %s, %d had nothing to look at", found, count(rep.Ran, "check"), rep.Skipped)
}

func severities(rep doctor.Report) map[doctor.Severity]int {
	n := map[doctor.Severity]int{}
	for _, f := range rep.Findings {
		n[f.Severity]++
	}
	return n
}

// The lines of --output json.
type (
	findingLine struct {
		Type string `json:"type"` // finding, or with --watch new or gone
		doctor.Finding
	}
	acceptedLine struct {
		Type string `json:"type"` // always "accepted"
		doctor.Accepted
	}
	staleLine struct {
		Type string `json:"type"` // always "baseline"
		doctor.Stale
	}
	blindLine struct {
		Type string `json:"type"` // always "blind"
		Text string `json:"text"`
	}
	summaryLine struct {
		Type       string          `json:"type"` // always "summary"
		ExaminedAt time.Time       `json:"examined_at"`
		Errors     int             `json:"errors"`
		Warnings   int             `json:"warnings"`
		Infos      int             `json:"infos"`
		Accepted   int             `json:"accepted"`
		Ran        int             `json:"ran"`
		Skipped    int             `json:"skipped"`
		Sources    []doctor.Source `json:"sources"`
		Missed     []doctor.Source `json:"missed,omitempty"`
	}
)

func (d *doctorRun) emitReport(rep doctor.Report) error {
	var errs []error
	for _, f := range rep.Findings {
		errs = append(errs, d.emit(findingLine{"finding", f}))
	}
	for _, a := range rep.Accepted {
		errs = append(errs, d.emit(acceptedLine{"accepted", a}))
	}
	for _, s := range rep.Stale {
		errs = append(errs, d.emit(staleLine{"baseline", s}))
	}
	for _, text := range rep.Blind {
		errs = append(errs, d.emit(blindLine{"blind", text}))
	}
	return errors.Join(append(errs, d.emitSummary(rep))...)
}

func (d *doctorRun) emitSummary(rep doctor.Report) error {
	n := severities(rep)
	return d.emit(summaryLine{
		Type: "summary", ExaminedAt: d.Now().UTC(), Errors: n[doctor.Error], Warnings: n[doctor.Warning], Infos: n[doctor.Info],
		Accepted: len(rep.Accepted), Ran: rep.Ran, Skipped: rep.Skipped, Sources: rep.Sources, Missed: rep.Missed,
	})
}
