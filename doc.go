// Package holdfast deals with the messages that a consumer could not process:
// it retries them within bounds, holds them through an outage, parks what will
// never work, and loses none of them.
//
// A service author writes a [Handler] and returns an error; everything else is
// the library's:
//
//	rmq, err := rabbitmq.Open(ctx, rabbitmq.Config{URL: os.Getenv("AMQP_URL")})
//	…
//	c, err := holdfast.NewConsumer(rmq, holdfast.ConsumerConfig{
//		Queue:   "orders.billing",
//		Handler: charge,
//	})
//	…
//	err = c.Run(ctx) // blocks; when ctx ends it drains, then returns nil
//
// # Verdicts
//
// An error says by its verdict what is to become of the message. A plain error
// goes down the ladder of the [Policy]: the message waits outside the process,
// longer each time, and is parked when the ladder is spent. [Hold] says that
// nothing is wrong with the message; it comes back by itself and has spent
// nothing. [Park] keeps it for a human at once. [Discard] drops it.
//
// # What is promised
//
// A delivery is acknowledged only after its fate is durable: the handler
// succeeded, or a copy is confirmed and routed elsewhere. There is no instant
// at which no durable copy exists. Delivery is at least once, so handlers must
// be idempotent. What can be duplicated, and when, is in docs/guarantees.md.
//
// The package imports nothing but the standard library and the seam in
// package broker; drivers are packages of their own below it.
package holdfast
