package doctor

import "github.com/holdfast-mq/holdfast/topology"

var declaredTwice = Check{
	ID: "HF072", Title: "one thing that two services declare with different arguments", Needs: SourceManifests, Runbook: bindingPage,
	Find: func(f *Facts) []Finding { return f.faults(topology.Conflict) },
}
