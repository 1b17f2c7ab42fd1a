// Package gcppubsub runs the suite of broker/brokertest and the driver's own
// cases on pstest, the server of the client module. It stands behind a front
// that adds what pstest lacks and the suite needs: flow control of streams, the
// end of a stream whose subscription is deleted, a pull that is answered as
// soon as a message is there, and a count of what waits.
package gcppubsub
