// Package broker is the seam between Holdfast's core and the message brokers.
//
// The core decides what becomes of a delivery; a driver reports facts about
// it and carries out exactly one [Settlement]. A driver holds no retry loop
// for messages, no budget and no policy. Everything a driver must do is said
// in the contracts of this package and is proven by the suite in
// broker/brokertest, which every driver passes on the real thing.
//
// A driver implements [Broker] and [Session]. What an operator's tool needs
// beyond consuming are roles that a driver may have besides: [Sifter], [Places]
// and [Publisher]. A driver that lacks one simply does not implement it; a
// capability that a session does not declare answers [ErrUnsupported].
//
// The package imports nothing but the standard library.
package broker
