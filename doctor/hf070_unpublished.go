package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/topology"
)

var boundAndNotPublished = Check{
	ID: "HF070", Title: "binding that nothing publishes to", Needs: SourceManifests, Runbook: bindingPage,
	Find: func(f *Facts) []Finding { return f.faults(topology.Unpublished) },
}

// faults are those of one kind that the comparison of the manifests finds.
func (f *Facts) faults(kind topology.FaultKind) (found []Finding) {
	for _, fault := range topology.Check(f.Manifests) {
		if fault.Kind == kind {
			found = append(found, Finding{
				Severity: severities[kind], Subject: fault.Subject, Summary: fault.Summary, Evidence: cut(fault.Evidence),
				Notice: notices[kind], Remedy: []string{fault.Remedy, "holdfast topology check MANIFEST…"},
				Limits: "what a service does not say in its manifest is not known",
			})
		}
	}
	return found
}

var severities = map[topology.FaultKind]Severity{
	topology.Unpublished: Warning, topology.Unbound: Error, topology.Conflict: Error,
}

var notices = map[topology.FaultKind]string{
	topology.Unpublished: "a feature never works: its queue is empty, which looks like idle",
	topology.Unbound:     "what is published is dropped, or fails as unrouted; whoever waits for it gets nothing",
	topology.Conflict:    fmt.Sprintf("whichever of the services starts second is refused with %d", 406),
}
