package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/doctor"
)

// watch examines until ctx ends, and then ends as the last examination would
// have. A source that is away for a while is told, and is no end.
func (d *doctorRun) watch(ctx context.Context, every time.Duration) error {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	w := watched{doctorRun: d}
	for {
		if err := w.look(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return w.end()
		case <-ticks.C:
		}
	}
}

// watched is what the looks so far have shown.
type watched struct {
	*doctorRun
	seen  map[subjectKey]doctor.Finding // nil before the first look that succeeded
	last  doctor.Report
	blind string // what could not be looked at, as it was told last
	err   error  // why the last look failed
}

// subjectKey is what a finding is known by from one look to the next.
type subjectKey struct{ id, subject string }

func (w *watched) look(ctx context.Context) error {
	rep, facts, err := w.examine(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case exitCode(&commandError{err}) == exitUsage:
		return err
	case err != nil:
		w.tellBlind(err.Error())
		w.err = err
		return nil
	}
	w.err, w.last = nil, rep
	// The look before is the earlier of two looks.
	w.gather.Before = facts.RabbitMQ
	if w.seen == nil {
		w.seen, w.blind = bySubject(rep.Findings), strings.Join(rep.Blind, "\n")
		return w.show(rep)
	}
	w.tellBlind(strings.Join(rep.Blind, "\n"))
	return w.change(rep)
}

// change says what is new, and what is gone of all that could be looked at.
func (w *watched) change(rep doctor.Report) error {
	var errs []error
	now := bySubject(rep.Findings)
	for _, f := range rep.Findings {
		if before, known := w.seen[subjectKey{f.ID, f.Subject}]; !known || before.Severity != f.Severity {
			errs = append(errs, w.tell("new", f))
		}
	}
	for key, f := range w.seen {
		switch _, still := now[key]; {
		case still:
		case stillLooked(rep, f.ID):
			errs = append(errs, w.tell("gone", f))
		default:
			now[key] = f // nobody knows
		}
	}
	w.seen = now
	return errors.Join(errs...)
}

func bySubject(findings []doctor.Finding) map[subjectKey]doctor.Finding {
	all := map[subjectKey]doctor.Finding{}
	for _, f := range findings {
		all[subjectKey{f.ID, f.Subject}] = f
	}
	return all
}

func stillLooked(rep doctor.Report, id string) bool {
	for _, c := range rep.Checks {
		if c.ID == id {
			return rep.DidRun(c)
		}
	}
	return false
}

func (w *watched) tell(what string, f doctor.Finding) error {
	if w.json() {
		return w.emit(findingLine{what, f})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", stamp(w.Now()), what)
	if what == "new" {
		w.finding(&b, f)
	} else {
		fmt.Fprintf(&b, "%s  %s\n", f.ID, printable(f.Subject))
	}
	_, err := fmt.Fprintln(w.Stdout, b.String())
	return err
}

// tellBlind says once what could not be looked at, and once that it can be
// again.
func (w *watched) tellBlind(text string) {
	if text == w.blind {
		return
	}
	w.blind = text
	if text == "" {
		w.say("%s everything can be looked at again", stamp(w.Now()))
		return
	}
	for line := range strings.Lines(text) {
		w.warn("%s not looked at: %s", stamp(w.Now()), printable(strings.TrimSpace(line)))
	}
}

func (w *watched) end() error {
	if w.err != nil {
		return w.err
	}
	return w.verdict(w.last)
}
