package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

var deadLettersLost = Check{
	ID: "HF122", Title: "broker's dead letters that nobody keeps", Needs: SourceBroker, Runbook: deadLetterPage,
	Find: perSource(func(f *Facts, s *broker.SourceSurvey) *Finding {
		if s.DeadErr == nil {
			return nil
		}
		return &Finding{
			Severity: Error, Summary: fmt.Sprintf("what the broker takes away (at delivery %d) is not kept", s.NativeLimit),
			Evidence: []string{fmt.Sprintf("it goes to %q", s.Dead), s.DeadErr.Error()},
			Notice:   "messages that were delivered that often are gone, or come again without end",
			Remedy:   []string{"give the dead letters a place that keeps them, and the broker the right to write there", "holdfast doctor"},
			Limits:   "what is gone already cannot be counted",
		}
	}),
}
