package doctor

import "github.com/holdfast-mq/holdfast/topology"

var publishedAndNotBound = Check{
	ID: "HF071", Title: "published key that nothing binds", Needs: SourceManifests, Runbook: bindingPage,
	Find: func(f *Facts) []Finding { return f.faults(topology.Unbound) },
}
