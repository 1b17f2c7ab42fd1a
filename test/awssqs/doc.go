// Package awssqs tests the driver for Amazon SQS on emulators: kumo in this
// process has the whole suite; ElasticMQ, which is another process, has its
// contract, redrive policies and message groups, and the whole suite where
// HOLDFAST_WHOLE=elasticmq; moto has what SNS delivers. scripts/elasticmq and
// scripts/moto put those two into the cache. It is a module of its own, so that
// nobody who uses Holdfast gets an emulator.
//
//	cd test/awssqs && go vet . && go test .
package awssqs
