// Package conformance runs the suite of broker/brokertest on the drivers, on
// real servers, each configuration in a place of its own. The broker in memory
// needs no server and runs the suite in its own tests.
package conformance
