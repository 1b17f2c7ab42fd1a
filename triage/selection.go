package triage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Selection picks messages. All its conditions must hold; the zero value picks
// every message.
type Selection struct {
	// Reasons picks by why the message is parked: any of them.
	Reasons []broker.Reason

	// Keys picks by the original routing key: any of them.
	Keys []Glob

	// Error picks by a part of the error's text or of its cause's, in any case.
	Error string

	// IDs picks by identity: a capture id, or the first eight characters or
	// more of one, or a whole message id; any of them.
	IDs []string

	// OlderThan and NewerThan pick by the time since the last failure. A
	// message that carries no such time is neither older nor newer.
	OlderThan time.Duration
	NewerThan time.Duration
}

// shortestID is how much of a capture id must be given. Less would pick
// strangers too.
const shortestID = 8

// Empty reports whether the selection picks every message.
func (s Selection) Empty() bool {
	return len(s.Reasons) == 0 && len(s.Keys) == 0 && s.Error == "" && len(s.IDs) == 0 &&
		s.OlderThan == 0 && s.NewerThan == 0
}

// Validate checks the selection whole: each line of the error names a field.
func (s Selection) Validate() error {
	var errs []error
	for _, r := range s.Reasons {
		if !r.Valid() {
			errs = append(errs, fmt.Errorf("triage: reason %q is not one of %s", r, strings.Join(reasonNames(), ", ")))
		}
	}
	if slices.Contains(s.IDs, "") {
		errs = append(errs, errors.New("triage: an id is empty"))
	}
	if s.OlderThan < 0 || s.NewerThan < 0 {
		errs = append(errs, errors.New("triage: an age cannot be negative"))
	}
	if s.NewerThan > 0 && s.OlderThan >= s.NewerThan {
		errs = append(errs, fmt.Errorf("triage: nothing is older than %v and newer than %v", s.OlderThan, s.NewerThan))
	}
	return errors.Join(errs...)
}

// Match reports whether m is picked at the time now.
func (s Selection) Match(m *broker.Stored, now time.Time) bool {
	return s.matchReason(m) && s.matchKey(m) && s.matchError(m) && s.matchID(m) && s.matchAge(m, now)
}

func (s Selection) matchReason(m *broker.Stored) bool {
	return len(s.Reasons) == 0 || m.Capture != nil && slices.Contains(s.Reasons, m.Capture.Reason)
}

func (s Selection) matchKey(m *broker.Stored) bool {
	if len(s.Keys) == 0 {
		return true
	}
	_, ok := matchAny(s.Keys, m.Message.Origin.Key)
	return ok
}

func (s Selection) matchError(m *broker.Stored) bool {
	if s.Error == "" {
		return true
	}
	part := strings.ToLower(s.Error)
	return m.Capture != nil &&
		(strings.Contains(strings.ToLower(m.Capture.Error), part) || strings.Contains(strings.ToLower(m.Capture.Cause), part))
}

func (s Selection) matchID(m *broker.Stored) bool {
	return len(s.IDs) == 0 || slices.ContainsFunc(s.IDs, func(id string) bool { return hasID(m, id) != notHis })
}

func (s Selection) matchAge(m *broker.Stored, now time.Time) bool {
	if s.OlderThan == 0 && s.NewerThan == 0 {
		return true
	}
	at := FailedAt(m)
	if at.IsZero() {
		return false
	}
	age := now.Sub(at)
	return (s.OlderThan == 0 || age > s.OlderThan) && (s.NewerThan == 0 || age < s.NewerThan)
}

// identity is how well an id fits a message.
type identity int

const (
	notHis   identity = iota
	prefixed          // it begins the capture id
	exact
)

func hasID(m *broker.Stored, id string) identity {
	switch {
	case id == "":
		return notHis
	case m.Message.ID == id, m.Capture != nil && m.Capture.ID == id:
		return exact
	case m.Capture != nil && len(id) >= shortestID && strings.HasPrefix(m.Capture.ID, id):
		return prefixed
	default:
		return notHis
	}
}

// FailedAt is when m failed last, as far as it carries a record of that: the
// capture's, else that of the broker's last dead-lettering, else zero.
func FailedAt(m *broker.Stored) time.Time {
	if m.Capture != nil {
		return m.Capture.FailedAt
	}
	if deaths := Deaths(m); len(deaths) > 0 {
		return deaths[0].Time
	}
	return time.Time{}
}

func reasonNames() []string {
	return []string{
		string(broker.ReasonVerdict), string(broker.ReasonExhausted), string(broker.ReasonLapsExhausted),
		string(broker.ReasonMalformed), string(broker.ReasonNoncanonicalRoute), string(broker.ReasonCrashLoop),
		string(broker.ReasonOversize),
	}
}

// Reasons returns the closed set of reasons, for help texts.
func Reasons() []string { return reasonNames() }
