// Package testenv gives tests the servers they need, and tells what could not run for want of one.
//
// The servers are private nodes that scripts/services runs for this tree; a test may break them. They are found
// through the environment (HOLDFAST_RABBITMQ4_URL and its like) or, where that is silent, through .services.env at the
// root of the module, so that a plain `go test` finds them as well.
//
// A missing server is never a silent skip: each one is appended to the file that HOLDFAST_NOT_RUN names, and
// scripts/test lists them at the end and fails where one was required.
package testenv
