package doctor

import (
	"fmt"
	"slices"

	"github.com/holdfast-mq/holdfast/topology"
)

var unboundedOnFillingDisk = Check{
	ID: "HF025", Title: "kept messages without a bound on a disk that is filling", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, n := range f.RabbitMQ.Nodes {
			if !n.Running || n.DiskLimit == 0 || n.DiskFree > 3*n.DiskLimit || 2*n.DiskFree < 3*n.DiskLimit { // nearer than that is HF041
				continue
			}
			kept := f.largestKept(n.Name)
			if len(kept) == 0 {
				continue
			}
			evidence := []string{fmt.Sprintf("%s free, the alarm is at %s", size(n.DiskFree), size(n.DiskLimit))}
			for _, q := range kept {
				evidence = append(evidence, fmt.Sprintf("queue %q: %s in %s, without a bound", q.Name, size(q.Bytes), count(q.Messages, "message")))
			}
			found = append(found, Finding{
				Severity: Warning, Subject: fmt.Sprintf("node %q", n.Name),
				Summary:  "its disk fills, and nobody bounds what is kept on it for a person to look at",
				Evidence: evidence,
				Notice:   "nothing yet; at the alarm every publisher is blocked at once",
				Remedy:   []string{"export and remove what is old: holdfast export QUEUE --remove", "give the node more disk"},
				Limits:   "other things on the same disk are not seen",
			})
		}
		return found
	},
}

// largestKept are the queues of a node in which messages wait for a person, the
// largest first.
func (f *Facts) largestKept(node string) (kept []managementQueue) {
	for _, v := range f.vhosts() {
		for _, q := range v.queues {
			role := v.names.Role(q.Name)
			if q.Node == node && !v.bounded(q.Name) && q.Messages > 0 && (role == RoleParked || role == RoleStrays || v.dead[q.Name] && q.Consumers == 0 && role == RoleForeign) {
				kept = append(kept, q)
			}
		}
	}
	slices.SortStableFunc(kept, func(a, b managementQueue) int { return int(b.Bytes - a.Bytes) })
	return kept[:min(len(kept), 3)]
}

// bounded reports whether a queue can only grow to a length or a size. That it may
// drop or refuse what is beyond is another matter.
func (v *vhost) bounded(queue string) bool {
	q := v.index.Queue(queue)
	_, length := q.Number(topology.ArgMaxLength)
	_, bytes := q.Number(topology.ArgMaxLengthBytes)
	return length || bytes
}

func size(n int64) string {
	const unit = 1 << 20
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d MiB", n/unit)
}
