package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"github.com/holdfast-mq/holdfast/doctor"
)

// doctorOn is a run of the command whose output is kept.
func doctorOn(t *testing.T, env Env) (*doctorRun, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	env.Stdout, env.Stderr = &out, &out
	if env.Getenv == nil {
		env.Getenv = func(string) string { return "" }
	}
	env.Now = newFake(t).env.Now
	return &doctorRun{root: &root{Env: env, output: outputText}, failOn: doctor.Warning}, &out
}

var doctorChecks = []doctor.Check{{ID: "HF901", Needs: doctor.SourceRabbitMQ}, {ID: "HF902", Needs: doctor.SourceStore}}

func doctorFinding(id string, s doctor.Severity, subject string) doctor.Finding {
	return doctor.Finding{
		ID: id, Severity: s, Subject: subject, Summary: "its dead-letter exchange has no queue, so that whatever is rejected here or expires is dropped at once",
		Evidence: []string{"x-dead-letter-exchange is \"orders.dlx\"", "nothing is bound to it"}, Notice: "an order that could not be processed is never seen again",
		Remedy: []string{"rabbitmqctl list_bindings --vhost shop source_name destination_name routing_key arguments --formatter pretty_table"}, Limits: "that anything was lost so far",
		Runbook: "dead-letter-accumulation.md",
	}
}

func doctorReport(findings ...doctor.Finding) doctor.Report {
	return doctor.Report{
		Findings: findings, Checks: doctorChecks, Ran: 2, Sources: []doctor.Source{doctor.SourceRabbitMQ, doctor.SourceStore},
	}
}

func TestDoctor_text(t *testing.T) {
	d, out := doctorOn(t, Env{})
	rep := doctorReport(doctorFinding("HF901", doctor.Error, `queue "orders"`), doctorFinding("HF902", doctor.Info, "queue \"\x1b]0;x\a\""))
	rep.Findings[1].Evidence = []string{"bound to \x1b[2J"}
	rep.Blind = []string{"the database orders: store: unreachable: connection refused"}
	if err := d.show(rep); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 error\n\nHF901  queue \"orders\"\n  its dead-letter exchange has no queue",
		"  seen         x-dead-letter-exchange is \"orders.dlx\"\n               nothing is bound to it\n",
		"  users notice an order", "  to do        rabbitmqctl list_bindings --vhost shop source_name destination_name routing_key arguments --formatter pretty_table\n",
		"  not proven   that anything", "  runbook      docs/runbooks/dead-letter-accumulation.md\n", `queue "\x1b]0;x\x07"`, `bound to \x1b[2J`,
		"not looked at\n\n  - the database orders", "\n1 error, 0 warnings, 1 remark; ran 2 checks, 0 had nothing to look at\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("colours where there is no terminal")
	}
	for line := range strings.Lines(out.String()) {
		if uniseg.StringWidth(strings.TrimSuffix(line, "\n")) > doctorWidth && !strings.Contains(line, "rabbitmqctl") {
			t.Errorf("too wide: %s", line)
		}
	}
}

func TestDoctor_colours_on_a_terminal_only(t *testing.T) {
	rep := doctorReport(doctorFinding("HF901", doctor.Error, "queue"))
	for noColor, want := range map[string]bool{"": true, "1": false} {
		d, out := doctorOn(t, Env{StdoutTerminal: true, Width: 200, Getenv: func(string) string { return noColor }})
		if err := d.show(rep); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), red); got != want {
			t.Errorf("NO_COLOR=%s: coloured %v\n%s", noColor, got, out)
		}
	}
}

func TestDoctor_verdict(t *testing.T) {
	warning := doctorReport(doctorFinding("HF901", doctor.Warning, "queue"))
	missed := doctorReport()
	missed.Missed = []doctor.Source{doctor.SourceStore}
	for _, tc := range []struct {
		rep    doctor.Report
		failOn doctor.Severity
		fails  bool
	}{
		{doctorReport(), doctor.Info, false},
		{warning, doctor.Info, true},
		{warning, doctor.Warning, true},
		{warning, doctor.Error, false},
		{warning, 0, false},
		{missed, doctor.Error, true},
		{missed, 0, false},
	} {
		d, _ := doctorOn(t, Env{})
		d.failOn = tc.failOn
		if err := d.verdict(tc.rep); (err != nil) != tc.fails {
			t.Errorf("%v from %v on, missed %v: %v", tc.rep.Worst(), tc.failOn, tc.rep.Missed, err)
		}
	}
}

func TestDoctor_json_is_one_object_per_line(t *testing.T) {
	d, out := doctorOn(t, Env{})
	d.output = outputJSON
	rep := doctorReport(doctorFinding("HF901", doctor.Error, "queue"))
	rep.Blind, rep.Stale = []string{"a"}, []doctor.Stale{{Acceptance: doctor.Acceptance{ID: "HF902"}, Expired: true}}
	rep.Accepted = []doctor.Accepted{{Finding: doctorFinding("HF902", doctor.Info, "row"), By: doctor.Acceptance{Reason: "so"}}}
	if err := d.show(rep); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for line := range strings.Lines(out.String()) {
		var o struct{ Type, ID, Severity string }
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, strings.TrimSpace(o.Type+" "+o.ID+" "+o.Severity))
	}
	if got := strings.Join(kinds, ", "); got != "finding HF901 error, accepted HF902 info, baseline HF902, blind, summary" {
		t.Error(got)
	}
}

// TestDoctor_watch: what could not be looked at is not gone.
func TestDoctor_watch_calls_gone_only_what_could_be_looked_at(t *testing.T) {
	d, out := doctorOn(t, Env{})
	w := watched{doctorRun: d, seen: bySubject([]doctor.Finding{
		doctorFinding("HF901", doctor.Warning, "queue a"), doctorFinding("HF901", doctor.Warning, "queue b"), doctorFinding("HF902", doctor.Error, "row"),
	})}
	rep := doctorReport(doctorFinding("HF901", doctor.Error, "queue a"), doctorFinding("HF901", doctor.Info, "queue c"))
	rep.Sources = rep.Sources[:1] // the store does not answer
	if err := w.change(rep); err != nil {
		t.Fatal(err)
	}
	said := out.String()
	for text, want := range map[string]int{" new\nHF901  queue a": 1, " new\nHF901  queue c": 1, " gone\nHF901  queue b": 1, "row": 0} {
		if n := strings.Count(said, text); n != want {
			t.Errorf("%q %d times, want %d, in\n%s", text, n, want, said)
		}
	}
	out.Reset()
	rep.Sources = doctorReport().Sources
	if err := w.change(rep); err != nil {
		t.Fatal(err)
	}
	if said := out.String(); !strings.Contains(said, " gone\nHF902  row") || strings.Count(said, "gone")+strings.Count(said, "new") != 1 {
		t.Errorf("once it can be looked at:\n%s", said)
	}
}

func TestDoctor_picks_checks(t *testing.T) {
	for _, tc := range []struct {
		only, skip []string
		want       string
	}{
		{nil, nil, "HF901, HF902"}, {[]string{"hf902"}, nil, "HF902"}, {nil, []string{"HF902"}, "HF901"}, {nil, []string{"HF901", "HF902"}, ""},
	} {
		picked, err := pickChecks(doctorChecks, tc.only, tc.skip)
		if err != nil || idsOf(picked) != tc.want {
			t.Errorf("%+v: %s, %v", tc, idsOf(picked), err)
		}
	}
	if _, err := pickChecks(doctorChecks, []string{"HF9"}, nil); exitCode(err) != exitUsage {
		t.Errorf("an id that no check has: %v", err)
	}
}

func TestDoctor_never_overwrites_a_baseline(t *testing.T) {
	d, _ := doctorOn(t, Env{})
	f := baselineFlags{write: filepath.Join(t.TempDir(), "b.json")}
	rep := doctorReport(doctorFinding("HF901", doctor.Warning, "queue"))
	if err := f.save(d.root, rep); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(f.write)
	if err := f.save(d.root, doctorReport()); exitCode(err) != exitUsage {
		t.Errorf("a second time: %v", err)
	}
	if after, _ := os.ReadFile(f.write); !bytes.Equal(before, after) || len(before) == 0 {
		t.Errorf("the file was %s and is %s", before, after)
	}
	if _, err := (&baselineFlags{file: f.write}).load(); exitCode(err) != exitUsage {
		t.Errorf("one without reasons: %v", err)
	}
}

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 10, ""},
		{"one two three", 7, "one two|three"},
		{"averyveryverylongword", 5, "averyveryverylongword"},
		{"holdfast parked orders --from x", 8, "holdfast parked orders --from x"},
		{"äöü äöü", 3, "äöü|äöü"},
		{"one two", -3, "one|two"},
	} {
		if got := strings.Join(wrap(tc.text, tc.width), "|"); got != tc.want {
			t.Errorf("%q in %d: %q", tc.text, tc.width, got)
		}
	}
}
