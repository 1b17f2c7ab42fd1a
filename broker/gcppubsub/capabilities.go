package gcppubsub

import "github.com/holdfast-mq/holdfast/broker"

// Capabilities: without a dead-letter policy the broker tells nothing of a
// redelivery, so that a release charges nothing and a crash is not seen.
func (s *session) Capabilities() broker.Capabilities {
	caps := broker.Capabilities{Broker: "Google Cloud Pub/Sub", Delay: true, Hold: true, Replies: true, Stamp: true}
	if p := s.source.policy; p != nil {
		caps.Attempts, caps.Counts, caps.NativeLimit = true, true, int(p.GetMaxDeliveryAttempts())
		return caps
	}
	caps.FreeRelease = true
	caps.Unenforceable = Unenforceable
	return caps
}

// Unenforceable is what sessions say of a source without a dead-letter policy,
// as Capabilities.Unenforceable.
const Unenforceable = "the subscription has no dead-letter policy, and without one Pub/Sub does not say that a delivery is a redelivery: " +
	"attempts that fail are counted on copies, but a message that ends its process comes again without end; " +
	"type: gcloud pubsub subscriptions update SUBSCRIPTION --dead-letter-topic TOPIC --max-delivery-attempts 100"
