// Package brokertest is the suite that every driver of Holdfast passes, on the
// real thing. It proves the contracts of package broker, and that the core
// keeps its promises over the driver: [Run] runs a case for each, as a subtest
// whose name says what is promised.
//
// Half of the suite is about failures: connections that are cut, queues that
// are deleted, servers that restart, messages that kill. A case waits for what
// it expects up to a generous deadline, and then looks at the exact end: the
// source empty, the parked queue with just what belongs there, and nothing
// more coming back from a rung or a hold.
//
// The last topic, [Contract], is what an author may rely on everywhere with the
// same handler and policy. The project's docs/conformance.md has a column for
// each of its cases and a row for each configuration.
//
// There are no skips. A case that needs a capability that the driver does not
// declare is not run, and another proves instead that the capability is
// refused; a case that needs a hook that the author did not give is not run.
// What was not run, and why, is in the log of [Run] and in its [Result].
package brokertest
