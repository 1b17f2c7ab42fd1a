package doctor

import (
	"fmt"
	"slices"

	"github.com/holdfast-mq/holdfast/topology"
)

// destroying are the arguments that remove messages from a queue that is to keep
// them, with what each does.
var destroying = []struct{ argument, does string }{
	{topology.ArgMessageTTL, "messages expire"},
	{topology.ArgExpires, "the queue is deleted when it is not used"},
	{topology.ArgMaxLength, "it has a greatest length"},
	{topology.ArgMaxLengthBytes, "it has a greatest size"},
}

var boundsThatDestroy = Check{
	ID: "HF028", Title: "policy or argument that can destroy copies of Holdfast's", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				evidence := v.destroyers(q)
				if len(evidence) == 0 {
					continue
				}
				found = append(found, Finding{
					Severity: Error, Subject: v.subject("queue", q.Name),
					Summary:  "copies that it is to keep can be destroyed",
					Evidence: evidence,
					Notice:   "messages that were parked, held or delayed are gone without a trace",
					Remedy: []string{
						fmt.Sprintf("make the policy's pattern leave %q out: rabbitmqctl list_policies, then set_policy", q.Name),
						"holdfast doctor",
					},
					Limits: "what is gone already cannot be counted",
				})
			}
		}
		return found
	},
}

// destroyers are what removes messages from a place of Holdfast's. A rung's own
// TTL is what it is for.
func (v *vhost) destroyers(q managementQueue) (lines []string) {
	role := v.names.Role(q.Name)
	if !slices.Contains([]Role{RoleParked, RoleHold, RoleRung, RoleStrays}, role) {
		return nil
	}
	in := v.index.Queue(q.Name)
	for _, d := range destroying {
		n, ok := in.Number(d.argument)
		own, mine := q.Arguments.Number(d.argument)
		switch {
		case !ok, role == RoleRung && d.argument == topology.ArgMessageTTL && mine && own == n:
			continue
		case in.Text(topology.ArgOverflow) == "reject-publish" && (d.argument == topology.ArgMaxLength || d.argument == topology.ArgMaxLengthBytes):
			continue // it refuses instead, and the original stays
		}
		by := "its own argument"
		if !mine || own != n {
			by = fmt.Sprintf("policy %q", policyOf(q.Policy, q.Operator))
		}
		lines = append(lines, fmt.Sprintf("%s: %s = %d, by %s", d.does, d.argument, n, by))
	}
	return lines
}
