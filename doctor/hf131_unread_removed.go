package doctor

import "github.com/holdfast-mq/holdfast/broker"

var unreadRemoved = Check{
	ID: "HF131", Title: "queue that is full", Needs: SourceBroker, Runbook: deadLetterPage,
	Find: perSource(func(f *Facts, s *broker.SourceSurvey) *Finding {
		if len(s.Risks) == 0 {
			return nil
		}
		return &Finding{
			Severity: Error, Summary: "messages are removed before anybody has had them, or new ones are refused",
			Evidence: cut(append(s.Risks[:len(s.Risks):len(s.Risks)], waiting(s))),
			Notice:   "events that were published and never arrive, or services that cannot publish",
			Remedy:   []string{"raise the limit that is named above", "find out why so much waits: holdfast doctor"},
			Limits:   "what is gone already cannot be counted",
		}
	}),
}
