package doctor

// deployChecks foretell what the next start, deploy or login will run into.
var deployChecks = []Check{
	permissionMissing, defaultExchangeRefused, manifestRefused, argumentsDiffer, inertResource, loginRefused, storedPasswordDiffers,
	boundAndNotPublished, publishedAndNotBound, declaredTwice, droppedByExchange,
}

const (
	driftPage   = "credential-drift.md"
	bindingPage = "binding-nothing-publishes.md"
)
