package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

// usualAttempts are those of the usual ladder, of four rungs.
const usualAttempts = 5

var limitBeforeBudget = Check{
	ID: "HF124", Title: "broker's delivery limit that acts before the budget", Needs: SourceBroker, Runbook: crashPage,
	Find: perSource(func(f *Facts, s *broker.SourceSurvey) *Finding {
		attempts, whose := usualAttempts, "the usual ladder"
		if f.Service != nil && len(f.Service.Rungs) > 0 {
			attempts, whose = len(f.Service.Rungs)+1, "the service's ladder"
		}
		if s.NativeLimit == 0 || s.NativeLimit > attempts {
			return nil
		}
		return &Finding{
			Severity: Warning, Summary: fmt.Sprintf("the broker takes a message away after %d deliveries, and its budget is %d attempts", s.NativeLimit, attempts),
			Evidence: []string{fmt.Sprintf("limit %d, to %s; %d attempts by %s", s.NativeLimit, orDefault(s.Dead, "nowhere"), attempts, whose)},
			Notice:   "messages end among the broker's dead letters without a reason, or nowhere, and not among what is parked",
			Remedy:   []string{"raise the broker's limit well above the budget: releases and crashes count, too", "or give the service a shorter ladder"},
			Limits:   "which ladder the service runs, where the doctor is not told",
		}
	}),
}
