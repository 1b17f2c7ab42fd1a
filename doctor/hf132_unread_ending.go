package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

var unreadEnding = Check{
	ID: "HF132", Title: "messages that expire before anybody has had them", Needs: SourceBroker, Runbook: crashPage,
	Find: perSource(func(f *Facts, s *broker.SourceSurvey) *Finding {
		if s.Retention == 0 || s.Oldest < s.Retention/4*3 {
			return nil
		}
		return &Finding{
			Severity: Error, Summary: fmt.Sprintf("the oldest message waits for %s, and the broker keeps it for %s", days(s.Oldest), days(s.Retention)),
			Evidence: []string{waiting(s)},
			Notice:   "events that were published and never arrive",
			Remedy:   []string{"raise the retention first: it may hold for what is stored already", "find out why nothing is consumed, or too slowly"},
		}
	}),
}
