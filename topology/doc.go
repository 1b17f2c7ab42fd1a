// Package topology describes exchanges, queues and bindings: as a broker has
// them, and as services say that they declare, publish and consume them (a
// [Manifest]). It follows the way of a rejected or expired message hop by hop
// and says what each hop promises ([Paths]); and it compares the manifests of
// all services with each other and with a broker, so that a binding nothing
// publishes to, or a key that nothing binds, is found before a deploy.
//
// It talks to nobody.
package topology
