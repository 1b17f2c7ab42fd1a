// Package membroker is a message broker in memory: a real one, that routes,
// delays, holds, parks and counts crashes as the servers do, and that passes
// the same suite (broker/brokertest) as their drivers. It is meant for tests
// of your own handlers, and its faults for tests of what happens when a broker
// fails.
//
// It keeps nothing beyond the process. It starts no goroutine of its own: what
// waits, waits in a timer, so that it also works inside a bubble of
// testing/synctest, where a ladder of hours passes at once.
package membroker
