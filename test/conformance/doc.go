// Package conformance runs the suite of broker/brokertest on every driver, on
// real servers, each configuration in a place of its own, and prints one table
// of all of them at the end.
package conformance
