package doctor

import "fmt"

var unlimitedByPolicy = Check{
	ID: "HF005", Title: "delivery limit of -1 in a policy, which is not obeyed", Needs: SourceRabbitMQ, Runbook: "poison-message.md",
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				if asked, ok := q.Effective.Number("delivery-limit"); !ok || asked >= 0 || q.Type != "quorum" || q.DeliveryLimit <= 0 {
					continue
				}
				found = append(found, Finding{
					Severity: Warning, Subject: v.subject("queue", q.Name),
					Summary:  fmt.Sprintf("its policy asks for no delivery limit, and the limit in force is %d", q.DeliveryLimit),
					Evidence: []string{fmt.Sprintf("policy %q: delivery-limit -1; delivery limit in force, as the broker tells it: %d", policyOf(q.Policy, q.Operator), q.DeliveryLimit)},
					Notice:   "after that many deliveries a message leaves the queue, although somebody had decided that it should not",
					Remedy:   []string{"-1 works as a queue argument only: declare the queue anew with x-delivery-limit -1, or live with the limit and a dead-letter target"},
				})
			}
		}
		return found
	},
}

func policyOf(user, operator string) string {
	if user == "" {
		return operator
	}
	return user
}
