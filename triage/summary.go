package triage

import (
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Summary is what can be said of many messages at once.
type Summary struct {
	Count   int                   `json:"count"`
	Reasons map[broker.Reason]int `json:"reasons,omitempty"`

	// DeadLettered and Foreign are messages that Holdfast did not park: moved
	// here by the broker, or put here by somebody. BadCapture are those whose
	// capture does not validate.
	DeadLettered int `json:"dead_lettered"`
	Foreign      int `json:"foreign"`
	BadCapture   int `json:"bad_capture"`

	// Oldest and Newest are the last failures of the oldest and the newest
	// message that carries a time.
	Oldest time.Time `json:"oldest_failed_at,omitzero"`
	Newest time.Time `json:"newest_failed_at,omitzero"`
}

// Add counts m.
func (s *Summary) Add(m *broker.Stored) {
	s.Count++
	switch {
	case m.Capture != nil:
		if s.Reasons == nil {
			s.Reasons = make(map[broker.Reason]int)
		}
		s.Reasons[m.Capture.Reason]++
	case m.CaptureErr != nil:
		s.BadCapture++
	case m.DeadLettered != "":
		s.DeadLettered++
	default:
		s.Foreign++
	}
	at := FailedAt(m).UTC()
	if at.IsZero() {
		return
	}
	if s.Oldest.IsZero() || at.Before(s.Oldest) {
		s.Oldest = at
	}
	if at.After(s.Newest) {
		s.Newest = at
	}
}
