package doctor

import "fmt"

var partitioned = Check{
	ID: "HF044", Title: "node that is down or cut off from others", Needs: SourceRabbitMQ, Runbook: "broker-unavailable.md",
	Find: func(f *Facts) (found []Finding) {
		for _, n := range f.RabbitMQ.Nodes {
			var evidence []string
			if !n.Running {
				evidence = append(evidence, "it does not run")
			}
			if len(n.Partitions) > 0 {
				evidence = append(evidence, "it does not see "+quoted(n.Partitions))
			}
			if len(evidence) == 0 {
				continue
			}
			found = append(found, Finding{
				Severity: Error, Subject: fmt.Sprintf("node %q", n.Name), Summary: "it is not part of the cluster as it should be",
				Evidence: evidence,
				Notice:   "queues whose majority is gone stand still; classic queues on it are away",
				Remedy:   []string{"rabbitmqctl cluster_status", "start the node, or mend the network and restart the smaller part"},
			})
		}
		return found
	},
}
