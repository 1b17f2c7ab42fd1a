package doctor

import (
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// longWeekend is for how long a service that is well may be away.
const longWeekend = 7 * 24 * time.Hour

var sourceExpires = Check{
	ID: "HF133", Title: "queue that the broker deletes when nobody consumes it", Needs: SourceBroker, Runbook: crashPage,
	Find: perSource(func(f *Facts, s *broker.SourceSurvey) *Finding {
		if s.Expires == 0 || s.Expires >= longWeekend {
			return nil
		}
		return &Finding{
			Severity: Warning, Summary: "without a consumer for " + days(s.Expires) + " it is deleted, and its place in the stream with it",
			Evidence: []string{waiting(s)},
			Notice:   "after an outage of the service, events that were published meanwhile are never processed",
			Remedy:   []string{"let its owner take the expiry off, or raise it above the longest outage", "holdfast doctor"},
		}
	}),
}
