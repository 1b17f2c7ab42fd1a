package doctor

import "github.com/holdfast-mq/holdfast/broker"

var parkingImpossible = Check{
	ID: "HF125", Title: "place in which nothing can be parked or held", Needs: SourceBroker, Runbook: deadLetterPage,
	Find: perSource(func(f *Facts, s *broker.SourceSurvey) *Finding {
		if s.ParkedErr == nil {
			return nil
		}
		return &Finding{
			Severity: Error, Summary: "what it fails to process cannot be kept",
			Evidence: []string{s.ParkedErr.Error()},
			Notice:   "a consumer that does not start; one that runs gives messages back again and again",
			Remedy:   []string{"mend what is named above", "holdfast doctor"},
		}
	}),
}
