package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/doctor"
	"github.com/holdfast-mq/holdfast/doctor/report"
	"github.com/holdfast-mq/holdfast/internal/app"
)

type doctorFlags struct {
	look  examineFlags
	base  baselineFlags
	only  []string
	skip  []string
	fail  string
	sarif string
	junit string
	watch bool
	every time.Duration
}

const (
	defaultDoctorEvery = 30 * time.Second
	minDoctorEvery     = time.Second
	maxDoctorEvery     = 24 * time.Hour

	failNever = "never"
)

func newDoctor(r *root) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find the failures that nobody notices, on a live broker, a database and a Prometheus",
		Long: "Doctor looks at a broker, a database and a Prometheus as they are, and at the manifests of\n" +
			"services, and says what is wrong: what was seen, what users would notice (usually that\n" +
			"something does not come), what to type, and what it does not prove. It changes nothing.\n\n" +
			"RabbitMQ is looked at through its management API, twice, so that standing still can be told.\n" +
			"With --queue it also says what the service that consumes these queues will be refused.\n\n" +
			"Exit codes: 0 nothing at or above --fail-on, 1 findings (or one of several sources gave no\n" +
			"answer), 2 what was typed can never work, 3 nothing that was asked answers.",
		Example: "  holdfast doctor\n" +
			"  holdfast doctor --management http://monitor:password@rabbit:15672 --queue orders --queue payments\n" +
			"  holdfast doctor --store postgres://… --prometheus http://prometheus:9090\n" +
			"  holdfast doctor --baseline accepted.json --fail-on error --sarif doctor.sarif --junit doctor.xml\n" +
			"  holdfast doctor --watch --every 1m",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), r) },
	}
	f.look.add(cmd)
	f.base.add(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.only, "only", nil, "run these checks only, by `ID` (repeatable)")
	flags.StringSliceVar(&f.skip, "skip", nil, "do not run these checks, by `ID` (repeatable)")
	flags.StringVar(&f.fail, "fail-on", doctor.Warning.String(), "end with exit code 1 from this severity on: info, warning, error or never")
	flags.StringVar(&f.sarif, "sarif", "", "also write what was found to `FILE`, as SARIF 2.1.0")
	flags.StringVar(&f.junit, "junit", "", "also write what was found to `FILE`, as JUnit's XML")
	flags.BoolVar(&f.watch, "watch", false, "look again and again, and say what is new and what is gone")
	flags.DurationVar(&f.every, "every", defaultDoctorEvery, "how often to look with --watch: 1s to 24h")
	cmd.MarkFlagsMutuallyExclusive("only", "skip")
	for _, once := range []string{"write-baseline", "sarif", "junit"} {
		cmd.MarkFlagsMutuallyExclusive("watch", once)
	}
	return cmd
}

// doctor is one run of the command.
type doctorRun struct {
	*root
	gather   app.GatherConfig
	checks   []doctor.Check
	baseline *doctor.Baseline
	failOn   doctor.Severity // 0: never
}

func (f *doctorFlags) run(ctx context.Context, r *root) error {
	d, err := f.prepare(r)
	if err != nil {
		return err
	}
	if f.watch {
		return d.watch(ctx, f.every)
	}
	if d.gather.Management != "" && d.gather.Observe > 0 && r.StderrTerminal {
		r.say("looking twice, with %v between", d.gather.Observe)
	}
	rep, _, err := d.examine(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(f.files(rep), f.base.save(r, rep), d.show(rep)); err != nil {
		return err
	}
	return d.verdict(rep)
}

func (f *doctorFlags) prepare(r *root) (*doctorRun, error) {
	d := &doctorRun{root: r}
	var err error
	if d.failOn, err = parseFailOn(f.fail); err != nil {
		return nil, err
	}
	if f.every < minDoctorEvery || f.every > maxDoctorEvery {
		return nil, usagef("--every is %v to %v, not %v", minDoctorEvery, maxDoctorEvery, f.every)
	}
	if d.checks, err = pickChecks(doctor.Checks(), f.only, f.skip); err != nil {
		return nil, err
	}
	if d.baseline, err = f.base.load(); err != nil {
		return nil, err
	}
	d.gather, err = f.look.config(r)
	return d, err
}

func parseFailOn(text string) (doctor.Severity, error) {
	if text == failNever {
		return 0, nil
	}
	s, err := doctor.ParseSeverity(text)
	if err != nil {
		return 0, usagef("--fail-on is info, warning, error or never, not %q", text)
	}
	return s, nil
}

// pickChecks refuses an id that no check has: one mistyped in CI would pass for
// ever.
func pickChecks(all []doctor.Check, only, skip []string) ([]doctor.Check, error) {
	named := map[string]bool{}
	for _, id := range append(slices.Clone(only), skip...) {
		id = strings.ToUpper(strings.TrimSpace(id))
		if !slices.ContainsFunc(all, func(c doctor.Check) bool { return c.ID == id }) {
			return nil, usagef("there is no check %q: they are %s", id, idsOf(all))
		}
		named[id] = true
	}
	if len(named) == 0 {
		return all, nil
	}
	var picked []doctor.Check
	for _, c := range all {
		if named[c.ID] == (len(only) > 0) {
			picked = append(picked, c)
		}
	}
	return picked, nil
}

func idsOf(checks []doctor.Check) string {
	ids := make([]string, len(checks))
	for i, c := range checks {
		ids[i] = c.ID
	}
	return strings.Join(ids, ", ")
}

// examine looks once and returns the facts for the next look, too.
func (d *doctorRun) examine(ctx context.Context) (doctor.Report, *doctor.Facts, error) {
	facts, err := app.Gather(ctx, d.gather)
	if err != nil {
		return doctor.Report{}, nil, err
	}
	rep := doctor.Run(facts, d.checks)
	if d.baseline != nil {
		rep = d.baseline.Apply(rep, d.Now())
	}
	return rep, facts, nil
}

// verdict is the exit code. A source that was asked and gave no answer is a
// look that is less than was asked: CI must not pass for it.
func (d *doctorRun) verdict(rep doctor.Report) error {
	if d.failOn > 0 && (rep.Worst() >= d.failOn || len(rep.Missed) > 0) {
		return &incompleteError{}
	}
	return nil
}

// files writes what other programs read.
func (f *doctorFlags) files(rep doctor.Report) error {
	failOn, _ := parseFailOn(f.fail)
	return errors.Join(
		writeReport(f.sarif, func(w io.Writer) error { return report.SARIF(w, rep, thisVersion().Version) }),
		writeReport(f.junit, func(w io.Writer) error { return report.JUnit(w, rep, failOn) }))
}

func writeReport(file string, write func(io.Writer) error) error {
	if file == "" {
		return nil
	}
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := os.WriteFile(file, content.Bytes(), 0o644); err != nil {
		return &usageError{err}
	}
	return nil
}
