package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

var nothingHandedOut = Check{
	ID: "HF129", Title: "queue that hands nothing out", Needs: SourceBroker, Runbook: crashPage,
	Find: perSource(func(f *Facts, s *broker.SourceSurvey) *Finding {
		if s.Stopped == "" {
			return nil
		}
		return &Finding{
			Severity: Error, Summary: "it is " + s.Stopped,
			Evidence: []string{waiting(s)},
			Notice:   "nothing that this queue was to cause happens, although its consumers run",
			Remedy:   []string{"end what stops it: a pause by whoever set it, a full limit by restarting the consumers that hold the messages", "holdfast doctor"},
		}
	}),
}

// waiting says what waits in a queue.
func waiting(s *broker.SourceSurvey) string {
	text := fmt.Sprintf("%d wait, %d are handed out", s.Ready, s.Unsettled)
	if s.Oldest > 0 {
		text += ", the oldest waits for " + days(s.Oldest)
	}
	return text
}
