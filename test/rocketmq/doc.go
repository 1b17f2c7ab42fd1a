// Package rocketmq runs a real RocketMQ for a test: a name server and a broker,
// each a Java process of its own on free loopback ports, with a folder of their
// own, that the test may kill and start again. Its tests are those that only
// this broker needs, and Env is the suite's view of it.
//
// The jars come from Maven Central, by scripts/rocketmq. Where they or Java are
// not there, the tests are listed as not run.
package rocketmq
