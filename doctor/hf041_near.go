package doctor

import "fmt"

var nearAlarm = Check{
	ID: "HF041", Title: "memory, disk or file descriptors near their alarm", Needs: SourceRabbitMQ, Runbook: confirmPage,
	Find: func(f *Facts) (found []Finding) {
		const near = 0.9
		for _, n := range f.RabbitMQ.Nodes {
			if len(alarms(n)) > 0 || !n.Running {
				continue
			}
			var evidence []string
			if n.MemoryLimit > 0 && float64(n.MemoryUsed) > near*float64(n.MemoryLimit) {
				evidence = append(evidence, fmt.Sprintf("memory: %s used, the alarm is at %s", size(n.MemoryUsed), size(n.MemoryLimit)))
			}
			if n.DiskLimit > 0 && float64(n.DiskFree) < float64(n.DiskLimit)*1.5 {
				evidence = append(evidence, fmt.Sprintf("disk: %s free, the alarm is at %s", size(n.DiskFree), size(n.DiskLimit)))
			}
			if n.FilesTotal > 0 && float64(n.FilesUsed) > near*float64(n.FilesTotal) {
				evidence = append(evidence, fmt.Sprintf("file descriptors: %d used of %d", n.FilesUsed, n.FilesTotal))
			}
			if len(evidence) == 0 {
				continue
			}
			found = append(found, Finding{
				Severity: Warning, Subject: fmt.Sprintf("node %q", n.Name), Summary: "it is near an alarm, at which every publisher is blocked",
				Evidence: evidence,
				Notice:   "nothing yet",
				Remedy:   []string{"see what grows: rabbitmqctl list_queues name messages message_bytes memory", "give the node more, or remove what nobody needs"},
			})
		}
		return found
	},
}
