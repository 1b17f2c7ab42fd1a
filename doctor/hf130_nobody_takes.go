package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

var nobodyTakes = Check{
	ID: "HF130", Title: "messages and nobody who takes them", Needs: SourceBroker, Runbook: crashPage,
	Find: perSource(func(f *Facts, s *broker.SourceSurvey) *Finding {
		if s.Consumers != 0 || s.Ready == 0 || s.Stopped != "" {
			return nil
		}
		return &Finding{
			Severity: Error, Summary: fmt.Sprintf("%s and no consumer", count(int64(s.Ready), "message")),
			Evidence: []string{waiting(s)},
			Notice:   "nothing that this queue was to cause happens, and nobody has an error",
			Remedy:   []string{"start the service that consumes it, or restart it if it says that it runs", "holdfast doctor"},
			Limits:   "a consumer that comes and goes, such as a nightly job, looks the same between its runs",
		}
	}),
}
