package doctor

import (
	"errors"
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

var loginRefused = Check{
	ID: "HF060", Title: "login of the service that the broker refuses", Needs: SourceService, Runbook: driftPage,
	Find: func(f *Facts) []Finding {
		s := f.Service
		if !errors.Is(s.Login, broker.ErrCredentials) && !errors.Is(s.Login, broker.ErrPermission) {
			return nil // that it does not answer is another matter
		}
		evidence := []string{"the broker answers, and says 403: it is reachable, and this is no outage"}
		summary := "its login is refused: it consumes and publishes nothing"
		if n := f.living(s.User); n > 0 {
			summary = "its login is refused now, and it lives on connections from before: drift, which breaks it at the next restart"
			evidence = append(evidence, fmt.Sprintf("%s of this user alive", count(n, "connection")))
		}
		return []Finding{{
			Severity: Error, Subject: fmt.Sprintf("user %q", s.User), Summary: summary, Evidence: evidence,
			Notice: "this service alone stands still, or will after its next restart; all others are fine",
			Remedy: []string{
				"decide which password is right, and give it to the other side: rabbitmqctl change_password " + shell(s.User) + " asks for it",
				"rotate in place: deleting the user takes its permissions along", "holdfast doctor",
			},
			Limits: "the login was tried from here: a rule on addresses may treat the service otherwise",
		}}
	},
}

// living is how many connections a user has.
func (f *Facts) living(user string) (n int64) {
	if f.RabbitMQ == nil {
		return 0
	}
	for _, c := range f.RabbitMQ.Connections {
		if c.User == user {
			n++
		}
	}
	return n
}
