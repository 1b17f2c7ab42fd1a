package topology

// Join puts together what the services of one virtual host declare, each thing
// once, and the exchanges that a broker always has. Of two declarations that
// differ it takes the first: [Check] tells them.
func Join(manifests []Manifest) Topology { return newComparison(manifests).whole }

// predeclared are the exchanges of every virtual host. Nobody declares them, and
// services bind and publish to them.
var predeclared = []Exchange{
	{Name: "amq.direct", Type: "direct", Durable: true},
	{Name: "amq.fanout", Type: "fanout", Durable: true},
	{Name: "amq.headers", Type: "headers", Durable: true},
	{Name: "amq.match", Type: "headers", Durable: true},
	{Name: "amq.topic", Type: "topic", Durable: true},
}

// Without leaves out the exchanges and queues that drop names, and the bindings
// that lead from or to one of them.
func (t Topology) Without(drop func(name string) bool) (rest Topology) {
	for _, e := range t.Exchanges {
		if !drop(e.Name) {
			rest.Exchanges = append(rest.Exchanges, e)
		}
	}
	for _, q := range t.Queues {
		if !drop(q.Name) {
			rest.Queues = append(rest.Queues, q)
		}
	}
	for _, b := range t.Bindings {
		if !drop(b.Source) && !drop(b.Destination) {
			rest.Bindings = append(rest.Bindings, b)
		}
	}
	return rest
}
