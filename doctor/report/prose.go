package report

import (
	"fmt"
	"strings"

	"github.com/holdfast-mq/holdfast/doctor"
)

// prose is a finding as lines of text.
func prose(f doctor.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", f.Subject, f.Summary)
	for _, part := range []struct {
		name  string
		lines []string
	}{
		{"seen", f.Evidence}, {"users notice", one(f.Notice)}, {"to do", f.Remedy}, {"not proven", one(f.Limits)}, {"runbook", one(f.Runbook)},
	} {
		for _, line := range part.lines {
			fmt.Fprintf(&b, "\n%s: %s", part.name, line)
		}
	}
	return b.String()
}

func one(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// StaleText says what is wrong with an entry of a baseline, in one line.
func StaleText(s doctor.Stale) string {
	what := fmt.Sprintf("%s %s (%s)", s.ID, s.Subject, s.Owner)
	if s.Expired {
		return what + " expired on " + s.Expires.String() + ": decide again, or mend it"
	}
	return what + " accepts nothing that is found: remove it"
}
