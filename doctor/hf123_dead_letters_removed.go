package doctor

import "github.com/holdfast-mq/holdfast/broker"

var deadLettersRemoved = Check{
	ID: "HF123", Title: "broker's dead letters that do not stay", Needs: SourceBroker, Runbook: deadLetterPage,
	Find: perSource(func(f *Facts, s *broker.SourceSurvey) *Finding {
		if len(s.DeadBounds) == 0 {
			return nil
		}
		return &Finding{
			Severity: Warning, Summary: "dead letters of the broker's own are removed before anybody may have looked",
			Evidence: cut(s.DeadBounds),
			Notice:   "a dead-letter queue that is empty, and messages that never did what they were to",
			Remedy:   []string{"raise the retention of the dead-letter queue to the most that the broker gives", "holdfast doctor"},
			Limits:   "whether any message ever goes there: with Holdfast few do",
		}
	}),
}
