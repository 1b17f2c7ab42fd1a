package doctor

import (
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// triage is how long before its end somebody has to know of a parked message.
const triage = 24 * time.Hour

var parkedEnding = Check{
	ID: "HF127", Title: "parked message that the broker is about to remove", Needs: SourceBroker, Runbook: deadLetterPage,
	Find: perSource(func(f *Facts, s *broker.SourceSurvey) *Finding {
		if !endsSoon(s) {
			return nil
		}
		left := max(s.ParkedRetention-s.ParkedOldest, 0).Round(time.Minute)
		return &Finding{
			Severity: Error, Summary: fmt.Sprintf("the oldest parked message is removed in %s", left),
			Evidence: []string{fmt.Sprintf("%s parked, the oldest for %s; the broker keeps them for %s", count(int64(s.Parked), "message"), days(s.ParkedOldest), days(s.ParkedRetention))},
			Notice:   "a failure that can no longer be made good",
			Remedy:   []string{"holdfast export " + shell(s.Queue) + " --file parked.jsonl", "decide: holdfast replay, discard or export"},
		}
	}),
}

// endsSoon reports whether the broker is about to remove what is parked.
func endsSoon(s *broker.SourceSurvey) bool {
	return s.Parked > 0 && s.ParkedRetention > 0 && s.ParkedOldest > 0 && s.ParkedRetention-s.ParkedOldest < triage
}
