package triage

import "github.com/holdfast-mq/holdfast/broker"

// Place is a queue in which messages wait, and whose of them are meant.
type Place struct {
	// Queue is where the messages wait.
	Queue string

	// Of is the source queue whose messages are meant, where several share
	// Queue. Empty means all.
	Of string

	// Strict leaves out messages of which nobody can say whose they are. A
	// shared parked queue is strict, since these may be another team's.
	Strict bool
}

// has reports whether m is meant, and if not, whether that is because its
// origin is unknown.
func (p Place) has(m *broker.Stored) (meant, unknown bool) {
	switch {
	case p.Of == "":
		return true, false
	case !OriginKnown(m):
		return !p.Strict, p.Strict
	default:
		return m.Message.Origin.Queue == p.Of, false
	}
}

// OriginKnown reports whether m carries a record of where it was first
// consumed: a capture, or the broker's own dead-letter record. Without one its
// exchange and key say only how it came to where it waits.
func OriginKnown(m *broker.Stored) bool {
	return m.Capture != nil || m.DeadLettered != ""
}
