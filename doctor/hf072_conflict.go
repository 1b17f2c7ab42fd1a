package doctor

import "github.com/holdfast-mq/holdfast/topology"

var declaredTwice = Check{
	ID: "HF072", Title: "one thing that two services declare with different arguments", Needs: SourceManifests, Runbook: bindingPage,
	Find: func(f *Facts) []Finding { return f.faults(topology.Conflict) },
}

// conflicts are the subjects of such faults.
func (f *Facts) conflicts() map[string]bool {
	subjects := map[string]bool{}
	for _, fault := range topology.Check(f.Manifests) {
		if fault.Kind == topology.Conflict {
			subjects[fault.Subject] = true
		}
	}
	return subjects
}
