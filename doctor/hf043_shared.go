package doctor

import "fmt"

var sharedConnection = Check{
	ID: "HF043", Title: "one connection for consuming and publishing", Needs: SourceRabbitMQ, Runbook: confirmPage,
	Find: func(f *Facts) (found []Finding) {
		type use struct{ consumes, publishes int64 }
		uses := map[string]use{}
		for _, c := range f.RabbitMQ.Channels {
			u := uses[c.Connection]
			u.consumes += c.Consumers
			if c.Confirm || c.PublishRate > 0 {
				u.publishes++
			}
			uses[c.Connection] = u
		}
		for _, c := range f.RabbitMQ.Connections {
			u := uses[c.Name]
			if u.consumes == 0 || u.publishes == 0 {
				continue
			}
			found = append(found, Finding{
				Severity: Info, Subject: fmt.Sprintf("connection %q", c.Name),
				Summary:  "it consumes and publishes: when the broker blocks its publishes, its acknowledgements wait, too",
				Evidence: []string{fmt.Sprintf("user %q, client %q: %s, %s", c.User, c.ClientName, count(u.consumes, "consumer"), count(u.publishes, "publishing channel"))},
				Notice:   "under an alarm the consumer stands still as well, which is what would have ended the alarm",
				Remedy:   []string{"open two connections, one to consume and one to publish"},
			})
		}
		return found
	},
}
