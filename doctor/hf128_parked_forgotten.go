package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

var parkedForgotten = Check{
	ID: "HF128", Title: "parked message that has waited for too long", Needs: SourceBroker, Runbook: deadLetterPage,
	Find: perSource(func(f *Facts, s *broker.SourceSurvey) *Finding {
		if s.Parked == 0 || s.ParkedOldest < f.Limits.WithDefaults().ParkedAge || endsSoon(s) {
			return nil
		}
		return &Finding{
			Severity: Warning, Summary: fmt.Sprintf("its oldest parked message has waited for a person for %s", days(s.ParkedOldest)),
			Evidence: []string{count(int64(s.Parked), "message") + " parked"},
			Notice:   "what these messages were to do has not happened, for some of them since that day",
			Remedy:   []string{list(s), "decide: holdfast replay, discard or export"},
		}
	}),
}
