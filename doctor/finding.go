package doctor

import (
	"errors"
	"fmt"
)

// Severity is how bad a finding is. The set is closed.
type Severity int

// The severities.
const (
	// Info: it works, and somebody should know.
	Info Severity = iota + 1

	// Warning: it works today, and something has to happen before it does not.
	Warning

	// Error: messages are being lost, are not processed, or will be at the next
	// failure, restart or deploy.
	Error
)

var severityNames = map[Severity]string{Info: "info", Warning: "warning", Error: "error"}

// String returns info, warning or error.
func (s Severity) String() string { return severityNames[s] }

// ParseSeverity reads what String writes.
func ParseSeverity(text string) (Severity, error) {
	for s, name := range severityNames {
		if name == text {
			return s, nil
		}
	}
	return 0, fmt.Errorf("doctor: a severity is info, warning or error, not %q", text)
}

// MarshalText implements [encoding.TextMarshaler].
func (s Severity) MarshalText() ([]byte, error) {
	if s.String() == "" {
		return nil, errors.New("doctor: not a severity")
	}
	return []byte(s.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Severity) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSeverity(string(text))
	return err
}

// Finding is one fault of one thing. It carries no payload and no secret.
type Finding struct {
	// ID is the check's, as HF001.
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`

	// Subject is what is at fault, as `queue "orders.billing"` or
	// `connection "10.0.0.7:51034 -> 10.0.0.2:5672"`; with the virtual host
	// where there is more than one. ID and Subject name a finding: a check gives
	// each pair once, and a baseline accepts it by them.
	Subject string `json:"subject"`

	// Summary is what is wrong, in one line without an end stop.
	Summary string `json:"summary"`

	// Evidence is what was seen, as numbers and names, most telling first.
	Evidence []string `json:"evidence,omitempty"`

	// Notice is what a user of the system would notice, usually an absence.
	Notice string `json:"notice"`

	// Remedy is what to do, step by step; a step that is a command is that
	// command alone.
	Remedy []string `json:"remedy"`

	// Limits is what the finding does not prove.
	Limits string `json:"limits,omitempty"`

	// Runbook is a page of docs/runbooks, as poison-message.md; empty where
	// Remedy says it all.
	Runbook string `json:"runbook,omitempty"`
}
