package doctor

import (
	"fmt"
	"time"
)

var brokerClock = Check{
	ID: "HF046", Title: "broker's clock differs from here", Needs: SourceRabbitMQ, Runbook: orderPage,
	Find: func(f *Facts) []Finding {
		skew, known := f.brokerSkew()
		if !known || skew.Abs() <= f.Limits.WithDefaults().ClockSkew {
			return nil
		}
		return []Finding{{
			Severity: Warning, Subject: "the broker's clock",
			Summary:  fmt.Sprintf("it is %v %s", skew.Abs().Round(time.Second), aheadOrBehind(skew)),
			Evidence: []string{fmt.Sprintf("the management API dates its answer %s when it is %s here", f.RabbitMQ.ServerTime.Format(time.RFC3339), f.RabbitMQ.AskedAt.UTC().Format(time.RFC3339))},
			Notice:   "timestamps of producers decide what is newer: events are taken for stale, or old ones win",
			Remedy:   []string{"chronyc tracking", "set the clock of whichever is wrong by a time server"},
			Limits:   "the answer has whole seconds; which of the two is wrong is not known",
		}}
	},
}

// brokerSkew is the broker's clock less this machine's. The Date header is cut to
// the second, so that half of one is added.
func (f *Facts) brokerSkew() (time.Duration, bool) {
	if f.RabbitMQ == nil || f.RabbitMQ.ServerTime.IsZero() {
		return 0, false
	}
	return f.RabbitMQ.ServerTime.Add(time.Second / 2).Sub(f.RabbitMQ.AskedAt), true
}

func aheadOrBehind(skew time.Duration) string {
	if skew > 0 {
		return "ahead of this machine's"
	}
	return "behind this machine's"
}
