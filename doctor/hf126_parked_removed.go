package doctor

import (
	"fmt"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

var parkedRemoved = Check{
	ID: "HF126", Title: "broker's rule that removes what is parked or held", Needs: SourceBroker, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, same := range sameBounds(f.Broker.Survey.Sources) {
			first := same[0]
			evidence := first.ParkedBounds
			if len(same) > 1 {
				evidence = append(evidence[:len(evidence):len(evidence)], fmt.Sprintf("so it is for %d queues", len(same)))
			}
			found = append(found, Finding{
				Severity: Error, Subject: sourceSubject(first), Summary: "copies that are to be kept can be destroyed",
				Evidence: cut(evidence),
				Notice:   "messages that were parked or held are gone without a trace",
				Remedy:   []string{"take the rule off, or set it to the most that the broker gives", list(first), "holdfast doctor"},
				Limits:   "what is gone already cannot be counted",
			})
		}
		return found
	},
}

// sameBounds are the sources whose copies are in danger, those together that
// are in one danger: they share a place.
func sameBounds(sources []broker.SourceSurvey) (groups [][]*broker.SourceSurvey) {
	at := map[string]int{}
	for i := range sources {
		s := &sources[i]
		if s.Err != nil || len(s.ParkedBounds) == 0 {
			continue
		}
		key := strings.Join(s.ParkedBounds, "\n")
		n, ok := at[key]
		if !ok {
			n = len(groups)
			at[key], groups = n, append(groups, nil)
		}
		groups[n] = append(groups[n], s)
	}
	return groups
}
