package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/doctor/management"
)

type node = management.Node

var blockedConnection = Check{
	ID: "HF042", Title: "connection that the broker blocks without an alarm that shows", Needs: SourceRabbitMQ, Runbook: confirmPage,
	Find: func(f *Facts) (found []Finding) {
		for _, n := range f.RabbitMQ.Nodes {
			if len(alarms(n)) > 0 {
				return nil // the alarm is the finding, and names them
			}
		}
		for _, c := range f.RabbitMQ.Connections {
			if !isBlocked(c) {
				continue
			}
			found = append(found, Finding{
				Severity: Error, Subject: fmt.Sprintf("connection %q", c.Name),
				Summary:  "the broker reads nothing from it: what is published on it waits",
				Evidence: []string{blockedLine(c)},
				Notice:   "what this client publishes does not arrive, and it has no error",
				Remedy:   []string{"rabbitmq-diagnostics alarms", "rabbitmqctl list_connections name user state"},
				Limits:   "an alarm that ended a moment ago may still show",
			})
		}
		return found
	},
}

func isBlocked(c management.Connection) bool { return c.State == "blocked" || c.State == "blocking" }

func blockedLine(c management.Connection) string {
	return fmt.Sprintf("connection %q of user %q, client %q: %s", c.Name, c.User, c.ClientName, c.State)
}
