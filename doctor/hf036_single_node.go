package doctor

import "fmt"

var singleNode = Check{
	ID: "HF036", Title: "quorum queues on a single node", Needs: SourceRabbitMQ, Runbook: "broker-unavailable.md",
	Find: func(f *Facts) []Finding {
		if len(f.RabbitMQ.Nodes) != 1 {
			return nil
		}
		n := int64(0)
		for _, q := range f.RabbitMQ.Queues {
			if q.Type == "quorum" {
				n++
			}
		}
		if n == 0 {
			return nil
		}
		return []Finding{{
			Severity: Info, Subject: fmt.Sprintf("node %q", f.RabbitMQ.Nodes[0].Name),
			Summary:  "the broker is one node: its quorum queues are durable, and not available while it restarts",
			Evidence: []string{count(n, "quorum queue") + " of one member"},
			Notice:   "everything stands still for a minute or three at each restart of the node",
			Remedy:   []string{"run three nodes where that matters"},
		}}
	},
}
