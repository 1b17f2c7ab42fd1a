// Package jetstream is the NATS JetStream driver of Holdfast, for NATS 2.12
// and later.
//
// A queue is named STREAM/CONSUMER: a durable pull consumer that its owner
// made. Neither the stream nor the consumer is ever changed. What the failure
// path needs is kept in two streams of the driver's own, per namespace:
//
//	<ns>-work     <ns>.wait.STREAM.CONSUMER.retry.*   copies between two attempts
//	              <ns>.wait.STREAM.CONSUMER.hold.*    held copies
//	              <ns>.back.STREAM.CONSUMER           copies that have come back
//	<ns>-parked   <ns>.parked.STREAM.CONSUMER         parked copies
//
// A copy that waits is a scheduled message: the server itself moves it to
// <ns>.back when its time has come, where a durable consumer of the driver's
// own (STREAM+CONSUMER) reads it for this queue alone, whoever else consumes
// the source's stream. A session takes from both consumers.
//
// Every copy has its PubAck before the original is acknowledged, and every
// acknowledgement is answered by the server. JetStream answers both once they
// are with the operating system: docs/guarantees.md says what a loss of power
// can undo.
package jetstream
