// Package awssqs tests the driver for Amazon SQS on emulators: kumo in this
// process, ElasticMQ where HOLDFAST_ELASTICMQ names a folder with its jars, and
// moto where HOLDFAST_MOTO names the program moto_server. It is a module of its
// own, so that nobody who uses Holdfast gets an emulator.
//
//	cd test/awssqs && go vet . && go test .
package awssqs
