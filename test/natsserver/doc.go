// Package natsserver runs a real nats-server for a test: a process of its own,
// with JetStream, on a free loopback port and in a folder of its own, that the
// test may kill and start again.
//
// The program is the one that go.mod names as a tool, built on the first use,
// so that there is nothing to install. It is a process and no library here
// because a test that kills it must not be killed with it.
package natsserver
