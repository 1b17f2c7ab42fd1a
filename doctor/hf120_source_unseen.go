package doctor

import (
	"errors"
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

var sourceUnseen = Check{
	ID: "HF120", Title: "queue that a service consumes and that is not there, or may not be looked at", Needs: SourceBroker, Runbook: driftPage,
	Find: func(f *Facts) (found []Finding) {
		for i := range f.Broker.Survey.Sources {
			s := &f.Broker.Survey.Sources[i]
			if s.Err == nil {
				continue
			}
			one := Finding{
				Severity: Error, Subject: sourceSubject(s), Summary: "it cannot be consumed as it is",
				Evidence: []string{s.Err.Error()},
				Notice:   "nothing that this queue was to cause happens",
				Remedy:   []string{"mend what is named above", "holdfast doctor"},
			}
			switch {
			case errors.Is(s.Err, broker.ErrMissing):
				one.Summary = fmt.Sprintf("%s has no such queue", f.Broker.Product)
				one.Remedy = []string{"look whether its name, the region, the project and the account are those of the service", "let its owner make it: Holdfast never does"}
			case errors.Is(s.Err, broker.ErrPermission):
				one.Severity, one.Summary = Warning, "these credentials may not look at it, and nothing is known of it"
				one.Notice = "nothing, until what cannot be seen goes wrong"
				one.Remedy = []string{"grant what is named above, as docs/permissions.md lists it"}
			}
			found = append(found, one)
		}
		return found
	},
}
