// Package examples runs each program under examples/ as a reader would, and
// what their README says as it is typed there. The unit test among them runs
// with all others.
package examples
