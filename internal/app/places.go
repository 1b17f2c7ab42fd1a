package app

import "strings"

// Places are the names of the queues where messages wait.
type Places struct {
	namespace string
	shared    bool
}

// PlacesOf names the places of the broker that cfg names. All drivers that
// exist name them alike.
func PlacesOf(cfg Config) Places {
	p := Places{namespace: cfg.Namespace, shared: cfg.SharedParked}
	if p.namespace == "" {
		p.namespace = DefaultNamespace
	}
	return p
}

// Parked is where the messages of queue are parked, and whether other queues
// park there, too. A server-named queue (amq.…) parks in the shared queue in
// any case, since nobody else may use that prefix.
func (p Places) Parked(queue string) (name string, shared bool) {
	if p.shared || strings.HasPrefix(queue, "amq.") {
		return p.namespace + ".parked", true
	}
	return queue + ".parked", false
}

// Hold is where the messages of queue wait for the end of an outage.
func (p Places) Hold(queue string) string { return queue + ".hold" }
