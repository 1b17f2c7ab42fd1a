package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/triage"
)

// selectFlags pick messages.
type selectFlags struct {
	reasons []string
	keys    []string
	err     string
	ids     []string
	older   time.Duration
	newer   time.Duration
	limit   int
}

func (f *selectFlags) add(cmd *cobra.Command, limit int, limitHelp string) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.reasons, "reason", nil, "only messages parked for this `REASON` (repeatable): "+strings.Join(triage.Reasons(), ", "))
	flags.StringSliceVar(&f.keys, "key", nil, "only messages whose original routing key fits this `GLOB` (repeatable; * is any run of characters)")
	flags.StringVar(&f.err, "error", "", "only messages whose error has this `TEXT` in it, in any case")
	flags.StringSliceVar(&f.ids, "id", nil, "only this message (repeatable): its `ID`, the first 8 characters of it, or its message id")
	flags.DurationVar(&f.older, "older-than", 0, "only messages that failed longer ago than this `AGE`, as 90s or 2h")
	flags.DurationVar(&f.newer, "newer-than", 0, "only messages that failed less long ago than this `AGE`")
	flags.IntVar(&f.limit, "limit", limit, limitHelp)
}

func (f *selectFlags) selection() (triage.Selection, error) {
	s := triage.Selection{Error: f.err, IDs: f.ids, OlderThan: f.older, NewerThan: f.newer}
	for _, reason := range f.reasons {
		s.Reasons = append(s.Reasons, broker.Reason(reason))
	}
	var err error
	if s.Keys, err = globs(f.keys); err != nil {
		return s, err
	}
	if f.limit < 0 {
		return s, usagef("--limit is a number of messages, not %d", f.limit)
	}
	if err := s.Validate(); err != nil {
		return s, &usageError{err}
	}
	return s, nil
}

func globs(patterns []string) ([]triage.Glob, error) {
	var out []triage.Glob
	for _, pattern := range patterns {
		g, err := triage.ParseGlob(pattern)
		if err != nil {
			return nil, &usageError{err}
		}
		out = append(out, g)
	}
	return out, nil
}
