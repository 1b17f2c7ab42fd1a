// Package gcppubsub is the Google Cloud Pub/Sub driver of Holdfast.
//
// A queue is a subscription that its owner made: its id, or its full name
// projects/P/subscriptions/S when it is in another project. It is never
// changed. What the failure path needs is kept beside it, each a topic and a
// subscription of the same id:
//
//	<sub>-parked   parked messages
//	<sub>-hold     held messages, until a session returns them
//	<sub>-retry    messages between two attempts; only where the subscription
//	               has no dead-letter policy
//	<sub>-back     what has come back. A copy can be published to a topic only,
//	               and every other subscription of the source's topic would get
//	               it; a session takes from this one and from the source.
//
// With a dead-letter policy Pub/Sub counts the deliveries of a message, and
// that count is the attempt: a retry is the message itself, with its ack
// deadline moved by up to 600 s. Without one Pub/Sub does not say that a
// delivery is a redelivery; attempts are then counted on stamped copies, and a
// message that kills its process is bounded by nothing, as
// Capabilities.Unenforceable says.
//
// The driver uses the client of the API's own calls (apiv1), and not the
// high-level one: that has neither ack ids nor a delay, and its shutdown and
// leases are its own.
package gcppubsub
