package doctor

import "fmt"

var nodeAlarm = Check{
	ID: "HF040", Title: "memory, disk or file-descriptor alarm", Needs: SourceRabbitMQ, Runbook: confirmPage,
	Find: func(f *Facts) (found []Finding) {
		for _, n := range f.RabbitMQ.Nodes {
			evidence := alarms(n)
			if len(evidence) == 0 {
				continue
			}
			found = append(found, Finding{
				Severity: Error, Subject: fmt.Sprintf("node %q", n.Name),
				Summary:  "it is under an alarm: the broker takes no publishes, or no connections",
				Evidence: append(evidence, f.waitingPublishers()...),
				Notice:   "nothing that is caused by an event happens; consumers still work, and no service has an error",
				Remedy: []string{
					"free what is used up: remove old kept messages (holdfast export QUEUE --remove), give the node more memory or disk",
					"to go on for now, raise the limit: rabbitmqctl set_vm_memory_high_watermark, set_disk_free_limit",
					"touch no outbox row: what is blocked goes on by itself",
				},
			})
		}
		return found
	},
}

// full is from which share of its files on a node is as good as without any.
const full = 0.97

func alarms(n node) (lines []string) {
	if n.MemoryAlarm {
		lines = append(lines, fmt.Sprintf("memory alarm: %s used, the limit is %s", size(n.MemoryUsed), size(n.MemoryLimit)))
	}
	if n.DiskAlarm {
		lines = append(lines, fmt.Sprintf("disk alarm: %s free, the limit is %s", size(n.DiskFree), size(n.DiskLimit)))
	}
	if n.FilesTotal > 0 && float64(n.FilesUsed) >= full*float64(n.FilesTotal) {
		lines = append(lines, fmt.Sprintf("file descriptors: %d used of %d", n.FilesUsed, n.FilesTotal))
	}
	return lines
}

// waitingPublishers names the connections that wait for the end of an alarm:
// they are its effect, and no finding of their own.
func (f *Facts) waitingPublishers() (lines []string) {
	for _, c := range f.RabbitMQ.Connections {
		if isBlocked(c) {
			lines = append(lines, blockedLine(c))
		}
	}
	return cut(lines)
}
