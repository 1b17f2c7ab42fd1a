// Command outbox measures the relay against a loop that one would write by hand and against Watermill's forwarder, and
// what [outbox.Add] costs. docs/bench.md says what each line means.
//
// It is a module of its own, so that nobody who uses Holdfast downloads Watermill.
package main
